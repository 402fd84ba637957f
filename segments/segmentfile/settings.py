"""How a table config wants a column encoded: dictionary or raw, codec, inverted index, partition function (segment-format.md 7.9, 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from segments.domain.schema import FieldSpec
from segments.domain.table_config import TableConfig
from segments.errors import InvalidInput
from segments.segmentfile.codecs import CODECS, LZ4, PASS_THROUGH


@dataclass(frozen=True)
class ColumnSettings:
    """Encoding of one column; ``partition`` is (function, number of partitions)."""

    raw: bool
    codec: int
    inverted: bool
    var_length_dictionary: bool
    partition: tuple[str, int] | None


def column_settings(spec: FieldSpec, config: TableConfig) -> ColumnSettings:
    """Read the settings of one column. Raises InvalidInput for a codec that can not be written."""
    index = config.index_config
    own: Mapping[str, Any] = next((f for f in config.body.get("fieldConfigList") or () if f.get("name") == spec.name), {})
    inverted = spec.name in (index.get("invertedIndexColumns") or ()) or "INVERTED" in _index_types(own)
    raw = spec.name in config.no_dictionary_columns and not inverted
    var_length = bool(index.get("useVarLengthDictionary")) or spec.name in (index.get("varLengthDictionaryColumns") or ())
    return ColumnSettings(raw, _codec(spec, index, own), inverted, var_length, _partition(spec, index))


def _index_types(own: Mapping[str, Any]) -> set[str]:
    listed = {str(t).upper() for t in own.get("indexTypes") or ()} | {str(own.get("indexType") or "").upper()}
    return listed | {str(t).upper() for t in own.get("indexes") or {}}


def _codec(spec: FieldSpec, index: Mapping[str, Any], own: Mapping[str, Any]) -> int:
    given = own.get("compressionCodec") or (index.get("noDictionaryConfig") or {}).get(spec.name)
    given = given or ((own.get("indexes") or {}).get("forward") or {}).get("compressionCodec")
    if not given:
        return PASS_THROUGH if spec.kind == "METRIC" else LZ4
    if str(given).upper() not in CODECS:
        raise InvalidInput(
            f"Compression codec '{given}' of column '{spec.name}' can not be written.", remedy=f"Use one of {', '.join(CODECS)}."
        )
    return CODECS[str(given).upper()]


def _partition(spec: FieldSpec, index: Mapping[str, Any]) -> tuple[str, int] | None:
    found = ((index.get("segmentPartitionConfig") or {}).get("columnPartitionMap") or {}).get(spec.name)
    if not found:
        return None
    try:
        return str(found["functionName"]), int(found["numPartitions"])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"'segmentPartitionConfig' of column '{spec.name}' needs functionName and numPartitions.") from error
