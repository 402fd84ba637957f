"""Settings of a table that people change in a form: where each stands in the config, and what it is in plain words."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from segments.names import OFFLINE, REALTIME, TableType

_SEGMENTS: Final = ("segmentsConfig",)
_BATCH: Final = ("ingestionConfig", "batchIngestionConfig")
_TASKS: Final = ("task", "taskTypeConfigsMap")
_MAPS: Final = ("ingestionConfig", "streamIngestionConfig", "streamConfigMaps")
_OLD_STREAM: Final = ("tableIndexConfig", "streamConfigs")
_FLUSH: Final = "realtime.segment.flush.threshold"

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Setting:
    """One setting. ``name``: of its form field; ``path``: where it stands; ``choices``: (value, words), "" for what is
    not said; ``most``: of a number from 1 on, else it is text. The choices of a flag are "true" and "false".
    """

    name: str
    path: Path
    label: str
    help_text: str
    types: tuple[TableType, ...] = (OFFLINE, REALTIME)
    choices: tuple[tuple[str, str], ...] = ()
    most: int = 0

    @property
    def written(self) -> str:
        """Its path as refusals and differences write it."""
        return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path).lstrip(".")


_ALL: Final = (
    Setting(
        "replicas", (*_SEGMENTS, "replication"), "Replicas",
        "On how many servers each row is. With two, one server may be down.", most=100,
    ),
    Setting(
        "retention", (*_SEGMENTS, "retentionTimeValue"), "Rows are kept for",
        "A number; counted by the time column, older segments are deleted. Empty: for ever.", most=100_000,
    ),
    Setting(
        "retention_unit", (*_SEGMENTS, "retentionTimeUnit"), "Unit of that time", "",
        choices=(("", "none"), ("DAYS", "days"), ("HOURS", "hours"), ("MINUTES", "minutes")),
    ),
    Setting(
        "deleted", (*_SEGMENTS, "deletedSegmentsRetentionPeriod"), "Deleted segments can be restored for",
        "For example 7d. Empty: as long as the cluster says.",
    ),
    Setting(
        "replaced", (*_SEGMENTS, "replacedSegmentsRetentionPeriod"), "Replaced snapshots can be restored for",
        "For example 3d. Empty: a day for tables that are refreshed, else four hours.", (OFFLINE,),
    ),
    Setting(
        "loading", (*_BATCH, "segmentIngestionType"), "What each push does", "", (OFFLINE,),
        (("", "not said: adds"), ("APPEND", "Add its rows to those that are there"), ("REFRESH", "Replace all rows")),
    ),
    Setting(
        "server_tag", ("tenants", "server"), "Servers",
        "Tenant of the servers that hold the table: those that carry its tag. Empty: DefaultTenant.",
    ),
    Setting(
        "misfits", ("ingestionConfig", "continueOnError"), "A value that does not fit its column", "",
        choices=(
            ("", "not said: its row is not stored"), ("false", "Its row is not stored"),
            ("true", "Null is stored for it, and the rest of its row"),
        ),
    ),
    Setting("broker_tag", ("tenants", "broker"), "Brokers", "Tenant of the brokers. Empty: DefaultTenant."),
    Setting(
        "quota", ("quota", "storage"), "Storage quota",
        "For example 100G. A push that would need more is refused. Empty: no limit.",
    ),
    Setting(
        "timeout", ("query", "timeoutMs"), "Query timeout in milliseconds",
        "For queries that do not set one themselves. Empty: the broker's, 10 seconds.",
        most=3_600_000,
    ),
)  # fmt: skip
_STREAM: Final = (
    ("flush_rows", f"{_FLUSH}.rows", "Commit a segment after this many rows", "Empty: as the size or time below say; "
     "0: chosen by the size of the segments before."),
    ("flush_time", f"{_FLUSH}.time", "Or after this time", "For example 6h."),
    ("flush_size", f"{_FLUSH}.segment.size", "Or when it is about as large as", "For example 200M."),
)  # fmt: skip


def settings_of(config: Mapping[str, Any], table_type: TableType) -> list[Setting]:
    """The settings that this table has, in the order of the form: those of its stream where there is one stream, and
    the schedule of each of its tasks.
    """
    listed = [s for s in _ALL if table_type in s.types]
    stream = _stream_path(config) if table_type == REALTIME else None
    if stream is not None:
        listed += [Setting(name, (*stream, key), label, words) for name, key, label, words in _STREAM]
    return [*listed, *_schedules(config)]


def values_of(config: Mapping[str, Any], settings: list[Setting]) -> dict[str, str]:
    """{name of the field: text} of a config; "" where it says nothing."""
    found = {setting.name: _at(config, setting.path) for setting in settings}
    return {name: _text(value) for name, value in found.items()}


def edited(config: Mapping[str, Any], settings: list[Setting], values: Mapping[str, str]) -> dict[str, Any]:
    """The config with these values; what is as it was stays as it was written, and everything else stays."""
    body = copy.deepcopy(dict(config))
    before = values_of(config, settings)
    for setting in settings:
        value = values.get(setting.name, before[setting.name]).strip()
        if value != before[setting.name]:
            is_flag = {"true", "false"} <= dict(setting.choices).keys()
            _put(body, setting.path, value == "true" if is_flag and value else value or None)
    return body


def setting_at(settings: list[Setting], path: str) -> Setting | None:
    """The setting that a refusal names by its path, or by the end of it."""
    named = path.strip()
    return next((s for s in settings if named and (s.written == named or s.written.endswith(f".{named}"))), None)


def _stream_path(config: Mapping[str, Any]) -> Path | None:
    maps = _at(config, _MAPS)
    if isinstance(maps, list):
        return (*_MAPS, 0) if len(maps) == 1 and isinstance(maps[0], dict) else None
    return _OLD_STREAM if isinstance(_at(config, _OLD_STREAM), dict) else None


def _schedules(config: Mapping[str, Any]) -> Iterator[Setting]:
    tasks = _at(config, _TASKS)
    for at, (name, keys) in enumerate(tasks.items() if isinstance(tasks, dict) else ()):
        if isinstance(keys, dict):
            words = "When it runs, as Quartz cron. Empty: only when somebody triggers it."
            yield Setting(f"task{at}", (*_TASKS, str(name), "schedule"), f"Schedule of {name}", words)


def _at(body: Any, path: Path) -> Any:
    for part in path:
        if isinstance(part, int):
            body = body[part] if isinstance(body, list) and part < len(body) else None
        else:
            body = body.get(part) if isinstance(body, Mapping) else None
    return body


def _text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _put(body: dict[str, Any], path: Path, value: str | bool | None) -> None:
    """Set it, or without a value take it out; objects on the way are made."""
    here: Any = body
    for part in path[:-1]:
        if isinstance(part, str) and not isinstance(here.get(part), dict | list):
            here[part] = {}
        here = here[part]
    if value is None:
        here.pop(path[-1], None)
    else:
        here[path[-1]] = value
