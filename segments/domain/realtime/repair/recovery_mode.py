"""Disaster recovery modes: may rows of a segment that no server has any more be read again from the stream?

Reading them again gives them another place in the order of rows. For dedup and partial upsert that may give another
result, so there it happens only where the table or the cluster says ALWAYS. A full upsert compares values, not the
order of reading, and is repaired in every mode, as Pinot does.
"""

from __future__ import annotations

from typing import Final

from segments.domain.tables.table_config import TableConfig

#: The cluster's setting, Pinot's name.
RECOVERY_MODE_KEY: Final = "controller.segment.disaster.recovery.mode"
ALWAYS: Final = "ALWAYS"
DEFAULT: Final = "DEFAULT"
_PARTIAL: Final = "PARTIAL"


def may_reingest(config: TableConfig, cluster_mode: str | None) -> bool:
    """May rows of this table be read again although others were read since? ``cluster_mode``: the cluster's setting,
    None where it has none. A table can not opt out of the cluster's ALWAYS.
    """
    if ALWAYS in (cluster_mode or "", config.streaming.disaster_recovery_mode or ""):
        return True
    upsert, dedup = config.model.upsert_config, config.model.dedup_config
    is_partial = upsert is not None and (upsert.mode or "").upper() == _PARTIAL
    return not is_partial and not (dedup is not None and dedup.dedup_enabled)
