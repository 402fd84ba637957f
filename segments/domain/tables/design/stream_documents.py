"""A new REALTIME table's config as Pinot's JSON, and what a person chooses of it: where reading begins, what becomes of
rows with the same key, when rows are committed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from segments.domain.tables.design.found_column import FoundColumn
from segments.domain.tables.design.new_documents import new_config_body

_RESET: Final = "consumer.prop.auto.offset.reset"
_ROWS: Final = "realtime.segment.flush.threshold.rows"
_TIME: Final = "realtime.segment.flush.threshold.time"


@dataclass(frozen=True)
class StreamChoice:
    """``start``: smallest, largest, or what else the config says. ``keys``: what becomes of rows with one primary key:
    all (""), newest (upsert) or first (dedup). ``rows`` and ``hours`` after which a consuming segment is committed, as
    text; "": Pinot's default.
    """

    start: str = "smallest"
    keys: str = ""
    rows: str = ""
    hours: str = ""


def new_stream_config_body(name: str, columns: Sequence[FoundColumn], stream: Mapping[str, str]) -> dict[str, Any]:
    """The config of a REALTIME table that reads this stream."""
    body = new_config_body(name, columns)
    ingestion = {"streamIngestionConfig": {"streamConfigMaps": [dict(stream)]}}
    return {**body, "tableType": "REALTIME", "ingestionConfig": ingestion}


def stream_choice(config: Mapping[str, Any]) -> StreamChoice | None:
    """What a config says of its stream; None: it is not that of a REALTIME table."""
    if str(config.get("tableType") or "").upper() != "REALTIME":
        return None
    given = stream_map(config)
    time = str(given.get(_TIME) or "")
    keys = "newest" if _mode(config, "upsertConfig") else "first" if config.get("dedupConfig") else ""
    return StreamChoice(
        str(given.get(_key(given, _RESET)) or "smallest"), keys, str(given.get(_ROWS) or ""), time.removesuffix("h")
    )


def stream_map(config: Mapping[str, Any]) -> dict[str, Any]:
    """The first stream that a config names; empty: none where new configs have it."""
    streaming = (config.get("ingestionConfig") or {}).get("streamIngestionConfig") or {}
    maps = streaming.get("streamConfigMaps") or []
    return maps[0] if isinstance(maps, list) and maps and isinstance(maps[0], dict) else {}


def set_stream_choice(body: dict[str, Any], choice: StreamChoice) -> None:
    """Write the choice into a config."""
    given = stream_map(body)
    if given:
        given[_key(given, _RESET)] = choice.start
        for key, value in ((_ROWS, choice.rows), (_TIME, f"{choice.hours}h" if choice.hours else "")):
            if value:
                given[key] = value
            else:
                given.pop(key, None)
    now = stream_choice(body)
    if now is not None and now.keys == choice.keys:
        return
    for key in ("upsertConfig", "dedupConfig"):
        body.pop(key, None)
    if choice.keys:
        body["routing"] = {**(body.get("routing") or {}), "instanceSelectorType": "strictReplicaGroup"}
    if choice.keys == "newest":
        body["upsertConfig"] = {"mode": "FULL"}
    elif choice.keys == "first":
        body["dedupConfig"] = {"dedupEnabled": True}


def _mode(config: Mapping[str, Any], key: str) -> bool:
    found = config.get(key)
    return isinstance(found, dict) and str(found.get("mode") or "NONE").upper() != "NONE"


def _key(given: Mapping[str, Any], name: str) -> str:
    return f"stream.{str(given.get('streamType') or '').lower()}.{name}"
