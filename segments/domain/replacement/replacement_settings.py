"""What a table says about replacements under ``metadata.customConfigs``: how many snapshots stay, how many replicas a
switch waits for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from segments.domain.formats.whole_number import whole_number
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.names import shown

SNAPSHOTS_KEPT: Final = "pinotadmin.replacement.snapshotsKept"
REPLICAS_REQUIRED: Final = "pinotadmin.replacement.replicasRequired"
_ALL: Final = "all"
_MOST_SNAPSHOTS: Final = 100


@dataclass(frozen=True)
class ReplacementSettings:
    """``snapshots_kept``: previous snapshots that a forced push leaves; None: not set, then it is 1, as in Pinot
    (rule `whole-snapshots-only`).

    ``replicas_required``: replicas of every new segment that an end waits for, None: every live one (rule
    `all-replicas-first`).
    """

    snapshots_kept: int | None = None
    replicas_required: int | None = None

    @property
    def kept_by_push(self) -> int:
        """Previous snapshots that the end of a forced push leaves."""
        return 1 if self.snapshots_kept is None else self.snapshots_kept

    @property
    def kept_by_time(self) -> int:
        """Previous snapshots that stay though replacedSegmentsRetentionPeriod is over: those requested, none unless
        requested.
        """
        return self.snapshots_kept or 0


DEFAULT_SETTINGS: Final = ReplacementSettings()


def replacement_settings(config: TableConfig) -> ReplacementSettings:
    """The settings of a table. Raises InvalidInput for a value that is none (also when the table is created or
    changed).
    """
    custom = config.custom
    kept = custom.get(SNAPSHOTS_KEPT)
    replicas = custom.get(REPLICAS_REQUIRED, _ALL)
    return ReplacementSettings(
        snapshots_kept=None if kept is None else _number(config, SNAPSHOTS_KEPT, kept, 0, _MOST_SNAPSHOTS),
        replicas_required=None
        if replicas.strip().lower() == _ALL
        else _number(config, REPLICAS_REQUIRED, replicas, 1, 100),
    )


def settings_or_default(config: TableConfig) -> ReplacementSettings:
    """As ``replacement_settings``; values that cannot be read count as not set (a foreign program may have written
    them).
    """
    try:
        return replacement_settings(config)
    except InvalidInput:
        return DEFAULT_SETTINGS


def _number(config: TableConfig, key: str, value: str, low: int, high: int) -> int:
    number = whole_number(value.strip())
    if number is None or not low <= number <= high:
        raise InvalidInput(
            f"'metadata.customConfigs.{key}' of table '{config.table}' must be a whole number from {low} to "
            f"{high}, not {shown(value)!r}.",
            remedy="Correct the table config.",
        )
    return number
