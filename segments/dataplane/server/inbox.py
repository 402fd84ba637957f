"""Reads the messages that controllers send to this server and removes them (storage-zk.md 1.9)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from segments.store import messages
from segments.store.base import Store
from segments.store.messages import Message

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reload:
    """Look at segments again. No names: all of the table. ``is_forced``: download even when the CRC is right."""

    table: str
    segments: tuple[str, ...]
    is_forced: bool


def take_reloads(store: Store, instance: str) -> Iterator[Reload]:
    """What the waiting messages ask for; each message is removed after it was yielded, also those that ask for nothing we do."""
    session = store.session_id()
    for message in messages.read(store, instance):
        if message.is_for(session):
            reload = _reload(message)
            if reload is not None:
                yield reload
        messages.delete(store, message)


def _reload(message: Message) -> Reload | None:
    match message.subtype:
        case messages.REFRESH_SEGMENT:
            table = message.resource or message.simple.get("tableName", "")
            segment = message.partition or message.simple.get("segmentName", "")
            return Reload(table, (segment,) if segment else (), is_forced=False)
        case messages.RELOAD_SEGMENT:
            names = tuple(message.lists.get("segmentNames", ())) or ((message.partition,) if message.partition else ())
            return Reload(message.resource, names, message.simple.get("forceDownload", "").lower() == "true")
    log.info("A message of type %s asks for nothing that this server does.", message.subtype or message.type)
    return None
