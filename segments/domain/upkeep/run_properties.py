"""What one run of a periodic pass is asked for beyond its settings: the properties of ``POST /periodictask/run``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from segments.errors import InvalidInput
from segments.names import shown

REPAIR_ORDERED: Final = "repairErrorSegmentsForPartialUpsertOrDedup"
_VALIDATION: Final = "RealtimeSegmentValidationManager"
#: Every run validates segments.
SEGMENT_LEVEL: Final = "runSegmentLevelValidation"
OFFSETS: Final = "offsetCriteria"


@dataclass(frozen=True)
class RunProperties:
    """``repairs_ordered``: are lost segments of dedup and partial upsert tables read again in this run? It replaces the
    cluster's disaster recovery mode, both ways; None: that decides.
    """

    repairs_ordered: bool | None = None


NO_PROPERTIES: Final = RunProperties()


def parse_run_properties(task: str, given: Mapping[str, str]) -> RunProperties:
    """InvalidInput for a property that the task does not have, and for a value that is not a flag."""
    known = (REPAIR_ORDERED, SEGMENT_LEVEL) if task == _VALIDATION else ()
    for key in given:
        if key == OFFSETS and task == _VALIDATION:
            raise InvalidInput(
                f"'{OFFSETS}' is not a property of a run here.",
                remedy="POST /tables/{tableName}/resumeConsumption?consumeFrom=smallest (or largest) does that.",
            )
        if key not in known:
            raise InvalidInput(
                f"Task '{task}' has no property '{shown(key)}'.",
                remedy=f"It has {' and '.join(known)}." if known else "Leave the body out.",
            )
    flags = {key: _flag(key, value) for key, value in given.items()}
    return RunProperties(flags.get(REPAIR_ORDERED))


def _flag(key: str, value: str) -> bool:
    if value.strip().lower() not in ("true", "false"):
        raise InvalidInput(f"'{key}' must be true or false, not '{shown(value)}'.")
    return value.strip().lower() == "true"
