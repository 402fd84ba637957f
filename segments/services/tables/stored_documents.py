"""Reads table configs and schemas from their records; those of a real Pinot as they are, whatever a version of it puts
into them.
"""

from __future__ import annotations

import json
from typing import Any

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.tables import schema, table_config
from segments.domain.tables.table_config import TableConfig
from segments.errors import PinotAdminError


def read_config(record: ZNRecord, *, is_foreign: bool) -> tuple[dict[str, Any], TableConfig | None]:
    """The config as JSON, and parsed. Of a foreign one that breaks our rules only the JSON: Pinot took it, so it is
    shown.
    """
    try:
        parsed = table_config.from_record(record)
    except PinotAdminError:
        if not is_foreign:
            raise
        return {key: _value(text) for key, text in record.simple.items()}, None
    return parsed.body, parsed


def read_schema(record: ZNRecord, *, is_foreign: bool) -> dict[str, Any]:
    """The schema as JSON."""
    if not is_foreign:
        return schema.from_record(record).body
    found = _value(record.simple.get("schemaJSON", ""))
    return found if isinstance(found, dict) else {}


def config_body(record: ZNRecord) -> dict[str, Any]:
    """The config as JSON; one that cannot be read as the texts that it is stored as, so that it can be put right."""
    return read_config(record, is_foreign=True)[0]


def schema_body(record: ZNRecord) -> dict[str, Any]:
    """The same of a schema; {} of one that cannot be read."""
    return read_schema(record, is_foreign=True)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
