"""Disaster recovery modes: may rows of a segment that no server has any more be read again from the stream?

Reading them again gives them another place in the order of rows. For dedup and partial upsert that may give another
result, so there it happens only where the table or the cluster says ALWAYS. A full upsert compares values, not the
order of reading, and is repaired in every mode, as Pinot does.
"""

from __future__ import annotations

from typing import Final

from segments.domain.tables.keyed_tables import comparison_columns, is_dedup
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput

#: The cluster's setting, Pinot's name.
RECOVERY_MODE_KEY: Final = "controller.segment.disaster.recovery.mode"
ALWAYS: Final = "ALWAYS"
DEFAULT: Final = "DEFAULT"
_PARTIAL: Final = "PARTIAL"


def check_mode(mode: str | None, where: str) -> None:
    """InvalidInput unless it is one of the modes, spelled exactly; None is left to the default."""
    if mode not in (None, DEFAULT, ALWAYS):
        raise InvalidInput(f"'{where}' is '{mode}'.", remedy=f"Use {DEFAULT} or {ALWAYS}.")


def may_reingest(config: TableConfig, cluster_mode: str | None, *, override: bool | None = None) -> bool:
    """May rows of this table be read again although others were read since? ``cluster_mode``: the cluster's setting,
    None where it has none. A table cannot opt out of the cluster's ALWAYS. ``override``: what one run was asked for
    (``repairErrorSegmentsForPartialUpsertOrDedup``), which replaces the cluster's mode, both ways.
    """
    of_run = cluster_mode == ALWAYS if override is None else override
    if of_run or config.streaming.disaster_recovery_mode == ALWAYS:
        return True
    upsert = config.model.upsert_config
    is_partial = upsert is not None and (upsert.mode or "").upper() == _PARTIAL
    is_filled = upsert is not None and len(comparison_columns(config, upsert)) > 1
    return not is_partial and not is_filled and not is_dedup(config)
