"""Creates what a fresh Helix/Pinot cluster has in ZooKeeper, so that real Pinot parts would feel at home."""

from __future__ import annotations

from collections.abc import Sequence

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict
from segments.store import paths
from segments.store.base import Store, Versioned
from segments.store.update import update_record

SEGMENT_STATE_MODEL = "SegmentOnlineOfflineStateModel"
BROKER_STATE_MODEL = "BrokerResourceOnlineOfflineStateModel"

#: Data-less parents.
_PARENTS = (
    paths.IDEAL_STATES,
    paths.EXTERNAL_VIEWS,
    paths.INSTANCES,
    paths.LIVE_INSTANCES,
    paths.PARTICIPANT_CONFIGS,
    "/CONFIGS/RESOURCE",
    "/CONFIGS/CUSTOMIZEDSTATE",
    "/CONTROLLER/HISTORY",
    "/CONTROLLER/MESSAGES",
    "/CONTROLLER/STATUSUPDATES",
    "/CONTROLLER/ERRORS",
    paths.TABLE_CONFIGS,
    paths.SCHEMAS,
    paths.SEGMENTS,
    paths.LINEAGE,
    paths.MINION_TASK_METADATA,
    "/PROPERTYSTORE/CONTROLLER_JOBS",
    "/PROPERTYSTORE/INSTANCE_PARTITIONS",
    paths.ROUTING_ACKS,
    paths.PENDING_DELETIONS,
)

#: Cluster-wide settings; an existing key is never overwritten.
_CLUSTER_SETTINGS = {
    "allowParticipantAutoJoin": "true",
    "enable.case.insensitive": "true",
    "default.hyperloglog.log2m": "8",
    "pinot.broker.enable.query.limit.override": "true",
}


def ensure_cluster(store: Store, cluster: str) -> None:
    """Create what is missing, touch nothing that exists. Safe to run at every start and by several
    processes at once.
    """
    for path, found in zip(_PARENTS, store.get_many(_PARENTS), strict=True):
        if found is None:
            _create_if_missing(store, path, None)
    for model in (segment_state_model(), broker_state_model()):
        _create_if_missing(store, f"{paths.STATE_MODELS}/{model.id}", model)
    _create_if_missing(store, paths.BROKER_RESOURCE, broker_resource())

    def with_settings(found: Versioned | None) -> ZNRecord:
        record = (found.record if found else None) or ZNRecord(cluster)
        missing = {key: value for key, value in _CLUSTER_SETTINGS.items() if key not in record.simple}
        return record.with_simple_items(dict(missing))

    update_record(store, f"{paths.CLUSTER_CONFIGS}/{cluster}", with_settings)


def segment_state_model() -> ZNRecord:
    """States and ranked transitions of a segment on a server."""
    removals = ("CONSUMING-DROPPED", "ONLINE-DROPPED", "OFFLINE-DROPPED")
    ranked = (
        *removals,
        "CONSUMING-OFFLINE",
        "ONLINE-OFFLINE",
        "OFFLINE-CONSUMING",
        "OFFLINE-ONLINE",
        "CONSUMING-ONLINE",
    )
    counts = {"ONLINE": "R", "CONSUMING": "R", "OFFLINE": "-1", "DROPPED": "-1"}
    hops = {
        "ONLINE": {"OFFLINE": "OFFLINE", "DROPPED": "DROPPED", "CONSUMING": "OFFLINE"},
        "CONSUMING": {"ONLINE": "ONLINE", "OFFLINE": "OFFLINE", "DROPPED": "DROPPED"},
        "OFFLINE": {"ONLINE": "ONLINE", "CONSUMING": "CONSUMING", "DROPPED": "DROPPED"},
    }
    return _state_model(SEGMENT_STATE_MODEL, ranked, counts, hops)


def broker_state_model() -> ZNRecord:
    """States and ranked transitions of a table on a broker."""
    ranked = ("ONLINE-DROPPED", "OFFLINE-DROPPED", "ONLINE-OFFLINE", "OFFLINE-ONLINE")
    counts = {"ONLINE": "R", "OFFLINE": "-1", "DROPPED": "-1"}
    hops = {
        "ONLINE": {"OFFLINE": "OFFLINE", "DROPPED": "DROPPED"},
        "OFFLINE": {"ONLINE": "ONLINE", "DROPPED": "DROPPED"},
    }
    return _state_model(BROKER_STATE_MODEL, ranked, counts, hops)


def broker_resource() -> ZNRecord:
    """Ideal state that says which broker serves which table; rows are added with the tables."""
    return ZNRecord(
        "brokerResource",
        {
            "REBALANCE_MODE": "CUSTOMIZED",
            "IDEAL_STATE_MODE": "CUSTOMIZED",
            "STATE_MODEL_DEF_REF": BROKER_STATE_MODEL,
            "STATE_MODEL_FACTORY_NAME": "DEFAULT",
            "NUM_PARTITIONS": "0",
            "REPLICAS": "0",
            "MAX_PARTITIONS_PER_INSTANCE": "2147483647",
        },
    )


def _state_model(name: str, ranked: Sequence[str], counts: dict[str, str], hops: dict[str, dict[str, str]]) -> ZNRecord:
    maps = {f"{state}.meta": {"count": count} for state, count in counts.items()}
    maps.update({f"{state}.next": targets for state, targets in hops.items()})
    lists = {"STATE_PRIORITY_LIST": list(counts), "STATE_TRANSITION_PRIORITYLIST": list(ranked)}
    return ZNRecord(name, {"INITIAL_STATE": "OFFLINE"}, maps, lists)


def _create_if_missing(store: Store, path: str, record: ZNRecord | None) -> None:
    try:
        if store.exists(path) is None:
            store.create(path, record)
    except Conflict:
        return  # somebody else sets up the same cluster
