"""Table config: the keys this project uses, each next to its default and unit; everything else is carried through
unread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from segments.domain.formats.config_text import config_text
from segments.domain.formats.json_model import Model, Text, read_model
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_model import (
    BatchIngestionConfig,
    FieldConfig,
    IndexConfig,
    IngestionConfig,
    SegmentsConfig,
    StreamIngestionConfig,
    TableModel,
)
from segments.errors import InvalidInput, RecordCorrupt
from segments.names import REALTIME, TableName, check_raw_table_name, parse_table_type, shown, split_table_name

#: Kept as plain text in the znode; every other key is JSON text.
_PLAIN: Final = ("tableName", "tableType", "isDimTable", "isMaterializedView", "description")
_MANDATORY: Final = ("segmentsConfig", "tenants", "tableIndexConfig", "metadata")
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
#: Milliseconds of the units of a retention, as Pinot names them.
UNIT_MS: Final = {"DAYS": DAY_MS, "HOURS": HOUR_MS, "MINUTES": 60_000, "SECONDS": 1_000, "MILLISECONDS": 1}
#: Milliseconds of the units of a period, in the order in which they are written.
_PERIOD_MS: Final = {"d": DAY_MS, "h": HOUR_MS, "m": 60_000, "s": 1_000}
_PERIOD_PART: Final = re.compile(r"([0-9]{1,9})([dhms])\s*", re.IGNORECASE)


def parse_period(text: str | None) -> int | None:
    """``1d12h`` -> milliseconds; None for empty or unreadable text (then the default holds)."""
    rest, units, found = (text or "").strip(), list(_PERIOD_MS), 0
    if not rest:
        return None
    at = 0
    while at < len(rest):
        part = _PERIOD_PART.match(rest, at)
        if part is None or part[2].lower() not in units:
            return None
        units = units[units.index(part[2].lower()) + 1 :]
        found += int(part[1]) * _PERIOD_MS[part[2].lower()]
        at = part.end()
    return found


#: Key of ``metadata.customConfigs`` that stands for ``batchIngestionConfig.consistentDataPush`` where Pinot does not
#: know that.
CONSISTENT_PUSH: Final = "pinotadmin.consistentDataPush"
_NO_SEGMENTS: Final = SegmentsConfig()
_NO_INDEX: Final = IndexConfig()
_NO_INGESTION: Final = IngestionConfig()
_NO_BATCH: Final = BatchIngestionConfig()
_NO_STREAM: Final = StreamIngestionConfig()


class TableHead(Model):
    """What says which table a config is."""

    table_name: Text | None = None
    table_type: Text | None = None


@dataclass(frozen=True)
class TableConfig:
    """A checked table config. ``body`` is the JSON as given, with ``tableName`` typed; ``model`` is what is read from
    it.
    """

    table: TableName
    body: dict[str, Any]

    @cached_property
    def model(self) -> TableModel:
        """The body as typed values. Raises InvalidInput naming the path of a value of another type."""
        return read_model(TableModel, self.body, f"config of table '{self.table}'")

    @property
    def segments(self) -> SegmentsConfig:
        """``segmentsConfig``."""
        return self.model.segments_config or _NO_SEGMENTS

    @property
    def index(self) -> IndexConfig:
        """``tableIndexConfig``."""
        return self.model.table_index_config or _NO_INDEX

    @property
    def ingestion(self) -> IngestionConfig:
        """``ingestionConfig``."""
        return self.model.ingestion_config or _NO_INGESTION

    @property
    def batch(self) -> BatchIngestionConfig:
        """``ingestionConfig.batchIngestionConfig``."""
        return self.ingestion.batch_ingestion_config or _NO_BATCH

    @property
    def streaming(self) -> StreamIngestionConfig:
        """``ingestionConfig.streamIngestionConfig``."""
        return self.ingestion.stream_ingestion_config or _NO_STREAM

    @property
    def custom(self) -> Mapping[str, str]:
        """``metadata.customConfigs``, without keys whose value is null."""
        found = self.model.metadata.custom_configs if self.model.metadata else None
        return {k: str(v) for k, v in (found or {}).items() if v is not None}

    @property
    def field_configs(self) -> tuple[FieldConfig, ...]:
        """``fieldConfigList``."""
        return tuple(f for f in self.model.field_config_list or () if f is not None)

    @property
    def replication(self) -> int:
        """Copies of every segment; default 1. A REALTIME table may still say ``replicasPerPartition``."""
        own = self.segments.replicas_per_partition if self.table.type == REALTIME else None
        return int(own or self.segments.replication or 1)

    @property
    def is_pauseless(self) -> bool:
        """The next segment consumes while the last one is still being built."""
        return bool(self.streaming.pauseless_consumption_enabled)

    @property
    def peer_scheme(self) -> str | None:
        """``peerSegmentDownloadScheme`` in lower case: servers may fetch segments from one another."""
        return (self.segments.peer_segment_download_scheme or "").lower() or None

    @property
    def time_column(self) -> str | None:
        """``segmentsConfig.timeColumnName``."""
        name = self.segments.time_column_name
        return str(name) if name else None

    @property
    def ingestion_type(self) -> str:
        """REFRESH or APPEND: batchIngestionConfig first, then the legacy push type, then APPEND."""
        return (self.batch.segment_ingestion_type or self.segments.segment_push_type or "APPEND").upper()

    @property
    def is_refresh(self) -> bool:
        """A push replaces the whole table."""
        return self.ingestion_type == "REFRESH"

    @property
    def consistent_push(self) -> bool:
        """Pushes go through the replacement protocol: flag set and REFRESH.

        Pinot 0.11 forgets a key that it does not know, except in ``metadata.customConfigs``, so the flag may stand
        there too.
        """
        is_set = bool(self.batch.consistent_data_push) or self.custom.get(CONSISTENT_PUSH, "").strip().lower() == "true"
        return self.is_refresh and is_set

    @property
    def null_handling(self) -> bool:
        """``tableIndexConfig.nullHandlingEnabled``."""
        return bool(self.index.null_handling_enabled)

    @property
    def no_dictionary_columns(self) -> frozenset[str]:
        """Columns stored raw."""
        listed = {*(self.index.no_dictionary_columns or ()), *(self.index.no_dictionary_config or ())}
        listed |= {f.name for f in self.field_configs if f.encoding_type == "RAW"}
        return frozenset(str(name) for name in listed if name is not None)

    @property
    def segment_time_check(self) -> bool:
        """Refuse segments whose time is outside 1971..2071; default true."""
        asked = self.ingestion.segment_time_value_check
        return True if asked is None else bool(asked)

    @property
    def replaced_retention_ms(self) -> int:
        """How long a replaced snapshot is kept: own setting, else 24 h for REFRESH, 4 h otherwise."""
        own = parse_period(self.segments.replaced_segments_retention_period)
        return own if own is not None else (24 if self.is_refresh else 4) * HOUR_MS

    @property
    def entry_retention_ms(self) -> int:
        """How long an unfinished lineage entry is kept; default 1 day."""
        own = parse_period(self.segments.lineage_entry_cleanup_retention_period)
        return own if own is not None else DAY_MS

    @property
    def time_retention_ms(self) -> int | None:
        """Age after which APPEND data goes; None: kept for ever (not set or unreadable)."""
        unit = UNIT_MS.get((self.segments.retention_time_unit or "").upper())
        try:
            value = int(self.segments.retention_time_value or 0)
        except ValueError:
            return None
        return value * unit if unit and value > 0 else None

    @property
    def deleted_retention(self) -> str | None:
        """``deletedSegmentsRetentionPeriod`` as written, e.g. ``3d``."""
        return self.segments.deleted_segments_retention_period or None

    def to_record(self) -> ZNRecord:
        """The znode: every key a simple field, JSON text except a few plain ones."""
        simple = {
            k: config_text(v) if k in _PLAIN else json.dumps(v, separators=(",", ":"))
            for k, v in self.body.items()
            if v is not None
        }
        return ZNRecord(self.table.typed, simple)


def parse_table_config(body: Any) -> TableConfig:
    """Check a config given as JSON. Raises InvalidInput that names the key and what is wrong with it."""
    head = read_model(TableHead, body, "table config")
    name, table_type = head.table_name, parse_table_type(head.table_type)
    if not name:
        raise InvalidInput("'tableName' is missing.", remedy="Name the table.")
    if table_type is None:
        raise InvalidInput(f"'tableType' is missing for table '{shown(name)}'.", remedy="Use OFFLINE or REALTIME.")
    raw, suffix = split_table_name(name)
    if suffix is not None and suffix != table_type:
        raise InvalidInput(
            f"Table name '{shown(name)}' does not match 'tableType' {table_type}.", remedy="Use the matching suffix."
        )
    table = TableName(check_raw_table_name(raw), table_type)
    filled = {
        "tableName": table.typed,
        "tableType": table_type,
        **{k: v for k, v in body.items() if k not in ("tableName", "tableType")},
    }
    for key in _MANDATORY:
        if filled.setdefault(key, {}) is None:
            filled[key] = {}
    config = TableConfig(table, filled)
    _check_values(config)
    return config


def check_against_schema(config: TableConfig, schema: Schema) -> None:
    """The columns a config names must be in the schema. Raises InvalidInput."""
    column = config.time_column
    if column is not None and (column not in schema.by_name or schema.by_name[column].kind != "DATE_TIME"):
        raise InvalidInput(
            f"Time column '{column}' of table '{config.table}' is not a date-time column of schema '{schema.name}'.",
            remedy="Add it to dateTimeFieldSpecs or change segmentsConfig.timeColumnName.",
        )
    for name in sorted(config.no_dictionary_columns - set(schema.by_name)):
        raise InvalidInput(f"Column '{name}' in noDictionaryColumns of table '{config.table}' is not in the schema.")


def from_record(record: ZNRecord) -> TableConfig:
    """The config in a znode. Raises RecordCorrupt when a mandatory key is missing or no JSON."""
    try:
        body = {k: (v if k in _PLAIN else json.loads(v)) for k, v in record.simple.items()}
        for flag in ("isDimTable", "isMaterializedView"):
            if flag in body:
                body[flag] = body[flag].lower() == "true"
        return parse_table_config({**body, "tableName": record.id})
    except (ValueError, InvalidInput) as error:
        raise RecordCorrupt(f"Table config '{record.id}' cannot be read: {error}") from error


def _check_values(config: TableConfig) -> None:
    for key, replicas in (
        ("replication", config.segments.replication),
        ("replicasPerPartition", config.segments.replicas_per_partition),
    ):
        if replicas is not None and replicas < 1:
            raise InvalidInput(
                f"'segmentsConfig.{key}' of table '{config.table}' must be a number from 1 on, not {int(replicas)}."
            )
    if config.ingestion_type not in ("APPEND", "REFRESH"):
        raise InvalidInput(
            f"'segmentIngestionType' of table '{config.table}' must be APPEND or REFRESH, not "
            f"'{shown(config.ingestion_type)}'."
        )
