"""Table config: the keys this project uses, each beside its default and unit; everything else is carried through unread."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from segments.domain.schema import Schema
from segments.domain.znrecord import ZNRecord
from segments.errors import InvalidInput, RecordCorrupt
from segments.names import REALTIME, TableName, check_raw_table_name, parse_table_type, split_table_name

#: Kept as plain text in the znode; every other key is JSON text (storage-zk.md 1.6).
_PLAIN: Final = ("tableName", "tableType", "isDimTable", "isMaterializedView", "description")
_MANDATORY: Final = ("segmentsConfig", "tenants", "tableIndexConfig", "metadata")
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
_UNIT_MS: Final = {"DAYS": DAY_MS, "HOURS": HOUR_MS, "MINUTES": 60_000, "SECONDS": 1_000, "MILLISECONDS": 1}
_PERIOD = re.compile(r"(?:(\d+)d)?\s*(?:(\d+)h)?\s*(?:(\d+)m)?\s*(?:(\d+)s)?", re.IGNORECASE)


def parse_period(text: str | None) -> int | None:
    """``1d12h`` -> milliseconds; None for empty or unreadable text (then the default holds; lineage.md 7)."""
    if not text or not text.strip():
        return None
    found = _PERIOD.fullmatch(text.strip())
    if not found or not any(found.groups()):
        return None
    days, hours, minutes, seconds = (int(g or 0) for g in found.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1_000


#: Key of ``metadata.customConfigs`` that stands for ``batchIngestionConfig.consistentDataPush`` where Pinot does not know that.
CONSISTENT_PUSH: Final = "pinotadmin.consistentDataPush"


@dataclass(frozen=True)
class TableConfig:
    """A checked table config. ``body`` is the JSON as given, with ``tableName`` typed."""

    table: TableName
    body: dict[str, Any]

    @property
    def segments_config(self) -> dict[str, Any]:
        """``segmentsConfig``."""
        return dict(self.body.get("segmentsConfig") or {})

    @property
    def batch_config(self) -> dict[str, Any]:
        """``ingestionConfig.batchIngestionConfig``."""
        return dict((self.body.get("ingestionConfig") or {}).get("batchIngestionConfig") or {})

    @property
    def index_config(self) -> dict[str, Any]:
        """``tableIndexConfig``."""
        return dict(self.body.get("tableIndexConfig") or {})

    @property
    def replication(self) -> int:
        """Copies of every segment; default 1. A REALTIME table may still say ``replicasPerPartition``."""
        own = self.segments_config.get("replicasPerPartition") if self.table.type == REALTIME else None
        return int(own or self.segments_config.get("replication") or 1)

    @property
    def stream_ingestion(self) -> dict[str, Any]:
        """``ingestionConfig.streamIngestionConfig``."""
        return dict((self.body.get("ingestionConfig") or {}).get("streamIngestionConfig") or {})

    @property
    def is_pauseless(self) -> bool:
        """The next segment consumes while the last one is still being built."""
        return str(self.stream_ingestion.get("pauselessConsumptionEnabled", "")).lower() == "true"

    @property
    def peer_scheme(self) -> str | None:
        """``peerSegmentDownloadScheme`` in lower case: servers may fetch segments from one another."""
        scheme = self.segments_config.get("peerSegmentDownloadScheme")
        return str(scheme).lower() if scheme else None

    @property
    def time_column(self) -> str | None:
        """``segmentsConfig.timeColumnName``."""
        return self.segments_config.get("timeColumnName") or None

    @property
    def ingestion_type(self) -> str:
        """REFRESH or APPEND: batchIngestionConfig first, then the legacy push type, then APPEND."""
        given = self.batch_config.get("segmentIngestionType") or self.segments_config.get("segmentPushType") or "APPEND"
        return str(given).upper()

    @property
    def is_refresh(self) -> bool:
        """A push replaces the whole table."""
        return self.ingestion_type == "REFRESH"

    @property
    def consistent_push(self) -> bool:
        """Pushes go through the replacement protocol: flag set and REFRESH (batch-push.md 1).

        Pinot 0.11 forgets a key that it does not know, except in ``metadata.customConfigs``, so the flag may stand there too.
        """
        custom = (self.body.get("metadata") or {}).get("customConfigs") or {}
        is_set = bool(self.batch_config.get("consistentDataPush")) or str(custom.get(CONSISTENT_PUSH, "")).strip().lower() == "true"
        return self.is_refresh and is_set

    @property
    def null_handling(self) -> bool:
        """``tableIndexConfig.nullHandlingEnabled``."""
        return bool(self.index_config.get("nullHandlingEnabled"))

    @property
    def no_dictionary_columns(self) -> frozenset[str]:
        """Columns stored raw."""
        listed = set(self.index_config.get("noDictionaryColumns") or ()) | set(self.index_config.get("noDictionaryConfig") or ())
        listed |= {str(f.get("name")) for f in self.body.get("fieldConfigList") or () if f.get("encodingType") == "RAW"}
        return frozenset(listed)

    @property
    def segment_time_check(self) -> bool:
        """Refuse segments whose time is outside 1971..2071; default true."""
        return bool((self.body.get("ingestionConfig") or {}).get("segmentTimeValueCheck", True))

    @property
    def replaced_retention_ms(self) -> int:
        """How long a replaced snapshot is kept: own setting, else 24 h for REFRESH, 4 h otherwise (lineage.md 7)."""
        own = parse_period(self.segments_config.get("replacedSegmentsRetentionPeriod"))
        return own if own is not None else (24 if self.is_refresh else 4) * HOUR_MS

    @property
    def entry_retention_ms(self) -> int:
        """How long an unfinished lineage entry is kept; default 1 day."""
        own = parse_period(self.segments_config.get("lineageEntryCleanupRetentionPeriod"))
        return own if own is not None else DAY_MS

    @property
    def time_retention_ms(self) -> int | None:
        """Age after which APPEND data goes; None: kept for ever (not set or unreadable)."""
        unit = _UNIT_MS.get(str(self.segments_config.get("retentionTimeUnit") or "").upper())
        try:
            value = int(self.segments_config.get("retentionTimeValue") or 0)
        except (TypeError, ValueError):
            return None
        return value * unit if unit and value > 0 else None

    @property
    def deleted_retention(self) -> str | None:
        """``deletedSegmentsRetentionPeriod`` as written, e.g. ``3d``."""
        return self.segments_config.get("deletedSegmentsRetentionPeriod") or None

    def to_record(self) -> ZNRecord:
        """The znode: every key a simple field, JSON text except a few plain ones."""
        simple = {k: _plain(v) if k in _PLAIN else json.dumps(v, separators=(",", ":")) for k, v in self.body.items() if v is not None}
        return ZNRecord(self.table.typed, simple)


def parse_table_config(body: Any) -> TableConfig:
    """Check a config given as JSON. Raises InvalidInput that names the key and what is wrong with it."""
    if not isinstance(body, dict):
        raise InvalidInput("A table config is a JSON object.")
    name, table_type = body.get("tableName"), parse_table_type(_text(body, "tableType"))
    if not isinstance(name, str) or not name:
        raise InvalidInput("'tableName' is missing.")
    if table_type is None:
        raise InvalidInput(f"'tableType' is missing for table '{name}'.", remedy="Use OFFLINE or REALTIME.")
    raw, suffix = split_table_name(name)
    if suffix is not None and suffix != table_type:
        raise InvalidInput(f"Table name '{name}' does not match 'tableType' {table_type}.")
    table = TableName(check_raw_table_name(raw), table_type)
    filled = {"tableName": table.typed, "tableType": table_type, **{k: v for k, v in body.items() if k not in ("tableName", "tableType")}}
    for key in _MANDATORY:
        if filled.setdefault(key, {}) is None:
            filled[key] = {}
        if not isinstance(filled[key], dict):
            raise InvalidInput(f"'{key}' of table '{table}' must be an object.")
    config = TableConfig(table, filled)
    _check_values(config)
    return config


def check_against_schema(config: TableConfig, schema: Schema) -> None:
    """The columns a config names must be in the schema. Raises InvalidInput."""
    column = config.time_column
    if column is not None and (column not in schema.by_name or schema.by_name[column].kind != "DATE_TIME"):
        raise InvalidInput(
            f"Time column '{column}' of table '{config.table}' is no date-time column of schema '{schema.name}'.",
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
                body[flag] = body[flag] == "true"
        return parse_table_config({**body, "tableName": record.id})
    except (ValueError, InvalidInput) as error:
        raise RecordCorrupt(f"Table config '{record.id}' can not be read: {error}") from error


def _check_values(config: TableConfig) -> None:
    for key in ("replication", "replicasPerPartition"):
        text = config.segments_config.get(key)
        try:
            replication = int(text) if text is not None else 1
        except (TypeError, ValueError):
            replication = 0
        if replication < 1:
            raise InvalidInput(f"'segmentsConfig.{key}' of table '{config.table}' must be a number from 1 on, not {text!r}.")
    if config.ingestion_type not in ("APPEND", "REFRESH"):
        raise InvalidInput(f"'segmentIngestionType' of table '{config.table}' must be APPEND or REFRESH, not '{config.ingestion_type}'.")


def _text(body: dict[str, Any], key: str) -> str | None:
    value = body.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"'{key}' must be text.")
    return value


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
