"""Helix user messages as znodes: send one to an instance, read and remove one's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, RecordCorrupt
from segments.store import paths
from segments.store.base import Store

REFRESH_SEGMENT = "REFRESH_SEGMENT"
RELOAD_SEGMENT = "RELOAD_SEGMENT"
FORCE_COMMIT = "FORCE_COMMIT"
DELETE_TABLE = "DELETE_TABLE"
REFRESH_TABLE_CONFIG_AND_SCHEMA = "REFRESH_TABLE_CONFIG_AND_SCHEMA"
REFRESH_TABLE_CONFIG = "REFRESH_TABLE_CONFIG"
REBUILD_ROUTING_TABLE = "REBUILD_ROUTING_TABLE"

_USER_MESSAGE = "USER_DEFINE_MSG"
#: Helix' own type: bring a replica into another state.
STATE_TRANSITION = "STATE_TRANSITION"
#: A message to any session of the instance.
ANY_SESSION = "*"


@dataclass(frozen=True)
class Message:
    """A message as its receiver sees it. ``simple`` and ``lists`` hold every field, ``path`` is where it lies."""

    id: str
    path: str
    type: str
    subtype: str
    resource: str
    partition: str
    session: str
    created_ms: int
    simple: Mapping[str, str]
    lists: Mapping[str, Sequence[str]]

    def is_for(self, session: str) -> bool:
        """True when this session may process it; a message to a former one is removed unprocessed."""
        return self.session in (ANY_SESSION, session)


#: What every message that is sent says.
_CONSTANT_FIELDS = {"MSG_STATE": "NEW", "SRC_INSTANCE_TYPE": "PARTICIPANT", "TIMEOUT": "-1", "RETRY_COUNT": "0"}


def send(
    store: Store,
    instance: str,
    subtype: str,
    *,
    resource: str,
    session: str,
    new_id: Callable[[], str],
    now_ms: int,
    partition: str = "",
    fields: Mapping[str, str] | None = None,
    lists: Mapping[str, Sequence[str]] | None = None,
    source: str = "pinotadmin",
    cluster: str = "",
    message_type: str = _USER_MESSAGE,
) -> str:
    """Put a message into the instance's queue; returns its id. ``session`` is the receiver's live session, or ``*``.

    ``fields`` and ``lists`` are the extra simple and list fields of the subtype. Raises what ``Store.create`` raises:
    on OutcomeUnknown the message may have been sent (receivers must bear repeats).
    """
    message_id = new_id()
    simple = {
        "MSG_ID": message_id,
        "MSG_TYPE": message_type,
        "MSG_SUBTYPE": subtype,
        "CREATE_TIMESTAMP": str(now_ms),
        "SRC_NAME": source,
        "SRC_CLUSTER": cluster,
        "TGT_NAME": instance,
        "TGT_SESSION_ID": session,
        "RESOURCE_NAME": resource,
        "PARTITION_NAME": partition,
        **_CONSTANT_FIELDS,
        **(fields or {}),
    }
    record = ZNRecord(message_id, simple, lists={key: list(values) for key, values in (lists or {}).items()})
    store.create(f"{paths.messages(instance)}/{message_id}", record)
    return message_id


def read(store: Store, instance: str) -> list[Message]:
    """The instance's waiting messages, oldest first."""
    folder = paths.messages(instance)
    names = [f"{folder}/{name}" for name in store.children(folder)]
    found = zip(names, _read_all(store, names), strict=True)
    return sorted(
        (_parse(path, record) for path, record in found if record is not None),
        key=lambda message: (message.created_ms, message.id),
    )


def delete(store: Store, message: Message) -> bool:
    """Remove a processed (or undeliverable) message; False when it was gone already."""
    return store.delete(message.path)


def _read_all(store: Store, names: Sequence[str]) -> list[ZNRecord | None]:
    try:
        return [node.record if node else None for node in store.get_many(names)]
    except RecordCorrupt:
        return [_read_or_drop(store, name) for name in names]


def _read_or_drop(store: Store, name: str) -> ZNRecord | None:
    """A message nobody can read would block the queue for good: it is removed."""
    try:
        node = store.get(name)
    except RecordCorrupt:
        try:
            store.delete(name)
        except Conflict:
            return None
        return None
    return node.record if node else None


def _parse(path: str, record: ZNRecord) -> Message:
    simple = record.simple
    created = simple.get("CREATE_TIMESTAMP", "")
    return Message(
        id=record.id,
        path=path,
        type=simple.get("MSG_TYPE", ""),
        subtype=simple.get("MSG_SUBTYPE", ""),
        resource=simple.get("RESOURCE_NAME", ""),
        partition=simple.get("PARTITION_NAME", ""),
        session=simple.get("TGT_SESSION_ID", ""),
        created_ms=int(created) if created.isdigit() else 0,
        simple=dict(simple),
        lists=dict(record.lists),
    )
