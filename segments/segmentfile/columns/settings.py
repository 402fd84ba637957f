"""How a table config wants a column encoded: dictionary or raw, codec, inverted index, partition function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from segments.domain.tables.schema import FieldSpec
from segments.domain.tables.table_config import TableConfig
from segments.domain.tables.table_model import FieldConfig, IndexConfig
from segments.errors import InvalidInput
from segments.segmentfile.format.codecs import CODECS, LZ4, PASS_THROUGH

_NO_FIELD: Final = FieldConfig()


@dataclass(frozen=True)
class ColumnSettings:
    """Encoding of one column; ``partition`` is (function, number of partitions)."""

    raw: bool
    codec: int
    inverted: bool
    var_length_dictionary: bool
    partition: tuple[str, int] | None


def column_settings(spec: FieldSpec, config: TableConfig) -> ColumnSettings:
    """Read the settings of one column. Raises InvalidInput for a codec that cannot be written."""
    index = config.index
    own = next((f for f in config.field_configs if f.name == spec.name), _NO_FIELD)
    inverted = spec.name in (index.inverted_index_columns or ()) or "INVERTED" in _index_types(own)
    raw = spec.name in config.no_dictionary_columns and not inverted
    var_length = bool(index.use_var_length_dictionary) or spec.name in (index.var_length_dictionary_columns or ())
    return ColumnSettings(raw, _codec(spec, index, own), inverted, var_length, _partition(spec, index))


def _index_types(own: FieldConfig) -> set[str]:
    listed = {*(own.index_types or ()), own.index_type, *(own.indexes or ())}
    return {name.upper() for name in listed if name}


def _codec(spec: FieldSpec, index: IndexConfig, own: FieldConfig) -> int:
    given = own.compression_codec or (index.no_dictionary_config or {}).get(spec.name)
    forward = (own.indexes or {}).get("forward")
    given = given or (forward.compression_codec if forward is not None else None)
    if not given:
        return PASS_THROUGH if spec.kind == "METRIC" else LZ4
    if given.upper() not in CODECS:
        raise InvalidInput(
            f"Compression codec '{given}' of column '{spec.name}' cannot be written.",
            remedy=f"Use one of {', '.join(CODECS)}.",
        )
    return CODECS[given.upper()]


def _partition(spec: FieldSpec, index: IndexConfig) -> tuple[str, int] | None:
    found = index.partitioned.get(spec.name)
    if found is None:
        return None
    if not found.function_name or not found.num_partitions:
        raise InvalidInput(
            f"'segmentPartitionConfig' of column '{spec.name}' needs functionName and numPartitions.",
            remedy="Name both, or neither.",
        )
    return str(found.function_name), int(found.num_partitions)
