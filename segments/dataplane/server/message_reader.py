"""Reads the messages that controllers send to this server and removes them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from segments.domain.segments.ideal_state import OFFLINE
from segments.store.base import Store
from segments.store.records import messages
from segments.store.records.messages import Message

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reload:
    """Check segments again. No names: all of the table. ``is_forced``: download even when the CRC is right."""

    table: str
    segments: tuple[str, ...]
    is_forced: bool


@dataclass(frozen=True)
class ForceCommit:
    """Commit these consuming segments where they are; those that this server does not consume are not meant."""

    table: str
    segments: tuple[str, ...]


@dataclass(frozen=True)
class Reset:
    """Begin this segment again: Helix' transition of a replica to OFFLINE, after which it goes back to what the ideal
    state wants.
    """

    table: str
    segment: str


Request = Reload | ForceCommit | Reset


def take_requests(store: Store, instance: str) -> Iterator[Request]:
    """What the waiting messages ask for; each message is removed after it was yielded, also those that ask for nothing
    we do.
    """
    session = store.session_id()
    for message in messages.read(store, instance):
        if message.is_for(session):
            request = _request(message)
            if request is not None:
                yield request
        messages.delete(store, message)


def _request(message: Message) -> Request | None:
    simple = message.simple
    table, segment = message.resource or simple.get("tableName", ""), message.partition or simple.get("segmentName", "")
    if message.type == "STATE_TRANSITION" and simple.get("TO_STATE") == OFFLINE and segment:
        return Reset(table, segment)
    match message.subtype:
        case messages.REFRESH_SEGMENT:
            return Reload(table, (segment,) if segment else (), is_forced=False)
        case messages.RELOAD_SEGMENT:
            names = tuple(message.lists.get("segmentNames", ())) or ((message.partition,) if message.partition else ())
            return Reload(message.resource, names, simple.get("forceDownload", "").lower() == "true")
        case messages.FORCE_COMMIT:
            listed = message.lists.get("segments") or simple.get("segmentNames", "").split(",")
            return ForceCommit(
                simple.get("tableName") or message.resource, tuple(s.strip() for s in listed if s.strip())
            )
    log.info("A message of type %s asks for nothing that this server does.", message.subtype or message.type)
    return None
