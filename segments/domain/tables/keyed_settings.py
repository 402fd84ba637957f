"""Every key of ``upsertConfig`` and ``dedupConfig``: which are honoured, which are refused, and which have no effect
here, each with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from segments.domain.tables.table_config import TableConfig
from segments.names import shown

UPSERT: Final = "upsertConfig"
DEDUP: Final = "dedupConfig"

HONOURED: Final[Mapping[str, frozenset[str]]] = {
    UPSERT: frozenset({
        "mode", "partialUpsertStrategies", "defaultPartialUpsertStrategy", "comparisonColumn", "comparisonColumns",
        "deleteRecordColumn", "outOfOrderRecordColumn", "dropOutOfOrderRecord", "metadataTTL", "deletedKeysTTL",
        "consistencyMode",
    }),
    DEDUP: frozenset({"dedupEnabled", "dedupTimeColumn", "metadataTTL"}),
}  # fmt: skip

_CLASS: Final = "it names a Java class, which servers of this cluster cannot load"
#: Keys that would change rows and cannot be honoured.
REFUSED: Final[Mapping[str, Mapping[str, str]]] = {
    UPSERT: {
        "metadataManagerClass": _CLASS,
        "partialUpsertMergerClass": _CLASS,
        "postPartialUpsertTransformConfigs": "rows are not transformed again once they are completed",
        "enableDeletedKeysCompactionConsistency": "segments are not compacted here, so nothing has to be kept for it",
    },
    DEDUP: {"metadataManagerClass": _CLASS},
}

_HASH: Final = "keys are always held as 128 bits that stand for them"
_MANAGER: Final = "they are settings of a Java class, and none is loaded here"
_SNAPSHOT: Final = "keys are built from the segments themselves at every start"
_VIEW: Final = "every query sees all segments and masks of one moment"
_COMMIT: Final = "rows are taken in during a commit in any case, with the keys of the rows before them"
#: Keys that change nothing that anybody sees: Pinot's way of working has no counterpart here.
WITHOUT_EFFECT: Final[Mapping[str, Mapping[str, str]]] = {
    UPSERT: {
        "hashFunction": _HASH,
        "metadataManagerConfigs": _MANAGER,
        "snapshot": _SNAPSHOT,
        "enableSnapshot": _SNAPSHOT,
        "preload": _SNAPSHOT,
        "enablePreload": _SNAPSHOT,
        "newSegmentTrackingTimeMs": _VIEW,
        "upsertViewRefreshIntervalMs": _VIEW,
        "allowPartialUpsertConsumptionDuringCommit": _COMMIT,
    },
    DEDUP: {
        "hashFunction": _HASH,
        "metadataManagerConfigs": _MANAGER,
        "preload": _SNAPSHOT,
        "enablePreload": _SNAPSHOT,
        "allowDedupConsumptionDuringCommit": _COMMIT,
        "ignoreNonDefaultTiers": "a server has the segments of all tiers of its partitions",
    },
}


def ineffective(config: TableConfig) -> dict[str, str]:
    """{key: why it has no effect} of the keys that are given, unknown ones among them, in the order of the config."""
    return {
        f"{section}.{shown(key)}": WITHOUT_EFFECT[section].get(key, "no such key is known")
        for section in (UPSERT, DEDUP)
        for key, value in _given(config, section).items()
        if value is not None and key not in HONOURED[section] and key not in REFUSED[section]
    }


def _given(config: TableConfig, section: str) -> Mapping[str, Any]:
    found = config.body.get(section)
    return found if isinstance(found, dict) else {}
