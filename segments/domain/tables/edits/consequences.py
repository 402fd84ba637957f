"""What follows from a change of a schema or a table config, in sentences: when it takes effect, and for which rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from segments.domain.tables.edits.differences import Difference

_STREAM: Final = "Stream: the next consuming segment of each partition follows it."
_KEYS: Final = "Upsert and dedup: it holds once servers read the rows again, after a restart."
_INDEX: Final = "Indexes and how columns are stored: segments that are built from now on have them"
_INDEXES: Final = ("tableIndexConfig", "fieldConfigList")
#: (beginning of a path of the config, what follows): the first that fits counts.
_OF_CONFIG: Final = (
    ("segmentsConfig.replication", "Replicas: new segments get that many; rebalance the table for the others."),
    ("segmentsConfig.replicasPerPartition", "Replicas: the next consuming segments have that many."),
    ("segmentsConfig.retention", "Retention: the next retention pass deletes segments that are too old by it."),
    ("segmentsConfig.deletedSegments", "Deleted segments: it holds for what is deleted from now on."),
    ("segmentsConfig.replacedSegments", "Replaced snapshots: the next retention pass follows it."),
    ("segmentsConfig.timeColumnName", "Time column: segments that are built from now on have their times from it."),
    ("tenants", "Servers and brokers: new segments go there; rebalance the table for the others."),
    ("tableIndexConfig.streamConfigs", _STREAM),
    ("ingestionConfig.streamIngestionConfig", _STREAM),
    ("ingestionConfig.batchIngestionConfig", "Pushes: the next one follows it."),
    ("ingestionConfig", "Ingestion: rows that come in from now on follow it; rows that are there stay."),
    ("tableIndexConfig.nullHandlingEnabled", "Null handling: segments that are built from now on know what is null."),
    ("task", "Tasks: the next run follows it."),
    ("quota", "Quota: it holds at once."),
    ("query", "Queries: it holds for the next query."),
    ("upsertConfig", _KEYS),
    ("dedupConfig", _KEYS),
    ("metadata", "Settings of this program and notes: they hold at once."),
)
_NEW_COLUMN: Final = (
    "Column {name} is new: rows that are there answer with its default, new ones bring values.",
    "Column {name} is new: rows that are there answer with its default after a reload of their segments.",
)
_DEFAULT: Final = "The default of column {name}: what is stored for null in new segments; stored values stay."
_OTHER: Final = "Some keys: they hold for what is read or built from now on."


def consequences(found: Sequence[Difference], *, is_ours: bool) -> list[str]:
    """Each once, in the order of the differences. ``is_ours``: the cluster's servers are those of this program, which
    fill in columns that a segment has not; a Pinot's do so when they load it.
    """
    sentences = [_of_schema(d, is_ours) if d.document == "schema" else _of_config(d.path, is_ours) for d in found]
    return [sentence for sentence in dict.fromkeys(sentences) if sentence]


def _of_config(path: str, is_ours: bool) -> str:
    named = next((sentence for start, sentence in _OF_CONFIG if path.startswith(start)), None)
    if named is None and path.startswith(_INDEXES):
        return f"{_INDEX}." if is_ours else f"{_INDEX}; loaded ones after a reload."
    return named or _OTHER


def _of_schema(difference: Difference, is_ours: bool) -> str:
    area, _, rest = difference.path.partition(".")
    if area != "columns":
        return ""
    if difference.before is None and "." not in rest:
        return _NEW_COLUMN[0 if is_ours else 1].format(name=rest)
    name, _, key = rest.rpartition(".")
    return _DEFAULT.format(name=name) if key == "defaultNullValue" else ""
