"""Which znodes a backup keeps, and what becomes of them in a cluster of another name, on servers of other addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from segments.domain.formats.znrecord import ZNRecord

#: What running processes write when they start, and what belongs to one ZooKeeper: its login and fingerprints.
_LEFT_OUT: Final = (
    "/EXTERNALVIEW",
    "/LIVEINSTANCES",
    "/PINOTADMIN/ROUTING_ACKS",
    "/PINOTADMIN/BROKERS",
    "/PINOTADMIN/ELECTED",
    "/PINOTADMIN/UPLOAD_LOCKS",
    "/PINOTADMIN/JOB_LOCKS",
    "/PINOTADMIN/ACCESS",
    "/PINOTADMIN/SHARED_SECRETS",
    "/PINOTADMIN/RESTORE",
)
_INSTANCES: Final = "/INSTANCES"
_CLUSTER_CONFIGS: Final = "/CONFIGS/CLUSTER/"
#: Below these there are records without children, a great many: nobody needs to ask each for its children.
_LEAVES_AT_DEPTH: Final = {"/PROPERTYSTORE/SEGMENTS": 2, "/IDEALSTATES": 1, "/PROPERTYSTORE/CONFIGS/TABLE": 1}
_SERVER_PREFIX: Final = "Server_"


def is_kept(path: str) -> bool:
    """Does a backup keep the znode at ``path`` (relative to the cluster's root)? Of an instance its folder alone: state
    and messages are those of a session.
    """
    if path.startswith(_INSTANCES + "/") and path.count("/") > 2:
        return False
    return not any(path == left or path.startswith(left + "/") for left in _LEFT_OUT)


def may_have_children(path: str) -> bool:
    """False for records that never have any."""
    return not any(
        path.startswith(parent + "/") and path[len(parent) :].count("/") >= depth
        for parent, depth in _LEAVES_AT_DEPTH.items()
    )


def renamed(
    path: str, record: ZNRecord | None, cluster: tuple[str, str], servers: Mapping[str, str]
) -> tuple[str, ZNRecord | None]:
    """Path and record as they are after a restore: ``cluster`` is (its name then, its name now), ``servers`` is {id of
    a server then: its id now}. Nothing is searched in texts: an id counts where it is a whole name, key or value.
    """
    before, after = cluster
    if before != after and path == _CLUSTER_CONFIGS + before:
        path, record = _CLUSTER_CONFIGS + after, record and replace(record, id=after)
    if not servers:
        return path, record
    path = "/".join(servers.get(name, name) for name in path.split("/"))
    return path, record and _on_servers(record, servers)


def server_ids(paths: Mapping[str, object]) -> list[str]:
    """The servers among the instances whose folders are in a backup."""
    names = (path.rpartition("/")[2] for path in paths if path.startswith(_INSTANCES + "/"))
    return sorted(name for name in names if name.startswith(_SERVER_PREFIX))


def _on_servers(record: ZNRecord, servers: Mapping[str, str]) -> ZNRecord:
    def named(text: str) -> str:
        return servers.get(text, text)

    simple = {key: named(value) for key, value in record.simple.items()}
    if record.id in servers and "HELIX_HOST" in simple:
        host, _, port = servers[record.id].removeprefix(_SERVER_PREFIX).rpartition("_")
        simple |= {"HELIX_HOST": host, "HELIX_PORT": port}
    maps = {named(key): {named(k): named(v) for k, v in inner.items()} for key, inner in record.maps.items()}
    lists = {named(key): [named(value) for value in values] for key, values in record.lists.items()}
    return replace(record, id=named(record.id), simple=simple, maps=maps, lists=lists)
