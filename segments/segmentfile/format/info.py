"""What a segment says about itself: ``metadata.properties`` and ``creation.meta`` as typed values."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from segments.domain.tables.datetime_format import MILLIS
from segments.domain.tables.schema import STORED_TYPES
from segments.errors import SegmentCorrupt
from segments.segmentfile.format.crc import CREATION_META, NO_CRC
from segments.segmentfile.format.properties import Value, from_safe, parse_properties

METADATA: Final = "metadata.properties"
INDEX_MAP: Final = "index_map"
COLUMNS: Final = "columns.psf"
_LISTS: Final = ("dimension", "metric", "datetime", "complex")
_MAX_DOCS: Final = 2**31 - 1
#: Partition ids of one column; a range of a few characters would else stand for a list that fills the memory.
_MAX_PARTITIONS: Final = 1_000_000


@dataclass(frozen=True)
class ColumnInfo:
    """One column as ``metadata.properties`` describes it; ``min_value``/``max_value`` are plain text of the stored
    value.

    ``total_entries`` counts values (= rows for single-value columns); ``entry_length`` is the width in bytes of a
    fixed-width dictionary entry; ``format``/``granularity`` belong to date-time columns; ``partitions`` are the
    partition ids present.
    """

    name: str
    data_type: str
    kind: str
    single_value: bool
    has_dictionary: bool
    is_sorted: bool
    cardinality: int
    total_docs: int
    bits_per_element: int
    total_entries: int
    max_multi_values: int
    min_value: str | None = None
    max_value: str | None = None
    format: str | None = None
    granularity: str | None = None
    default_null: str | None = None
    entry_length: int = 0
    longest_element: int | None = None
    raw_forward: bool = False
    is_non_null: bool = False
    partition_function: str | None = None
    num_partitions: int | None = None
    partitions: tuple[int, ...] = ()

    @property
    def stored_type(self) -> str:
        """The type in which values are stored (TIMESTAMP -> LONG)."""
        return STORED_TYPES[self.data_type]


@dataclass(frozen=True)
class SegmentInfo:
    """A segment's own description. ``table`` is the raw table name; start and end time are numbers of ``time_unit``.

    ``crc`` is the one on record in ``creation.meta`` (the file is not checked here; see ``verify``); Long.MIN when
    there is none.
    """

    name: str
    table: str
    total_docs: int
    crc: int
    data_crc: int | None
    creation_time_ms: int
    start_time: int | None
    end_time: int | None
    time_unit: str | None
    time_column: str | None
    index_version: str
    columns: dict[str, ColumnInfo]
    custom: dict[str, str] = field(default_factory=dict)
    realtime_start_offset: str | None = None
    realtime_end_offset: str | None = None

    @property
    def start_time_ms(self) -> int | None:
        """First time in the segment, epoch milliseconds."""
        return self._millis(self.start_time)

    @property
    def end_time_ms(self) -> int | None:
        """Last time in the segment, epoch milliseconds."""
        return self._millis(self.end_time)

    @property
    def partitions(self) -> dict[str, dict[str, Any]]:
        """{column: how it is partitioned, as the record names it}, of those that are."""
        return {
            name: {
                "functionName": column.partition_function,
                "numPartitions": column.num_partitions,
                "partitions": list(column.partitions),
                "functionConfig": None,
            }
            for name, column in sorted(self.columns.items())
            if column.partition_function
        }

    def _millis(self, value: int | None) -> int | None:
        if value is None or self.time_unit not in MILLIS:
            return None
        return int(value * MILLIS[self.time_unit])


class _Reader:
    """Typed access to parsed properties; every fault names the key."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self.values = values

    def text(self, key: str) -> str | None:
        value = self.values.get(key)
        if isinstance(value, list):
            raise SegmentCorrupt(
                f"{METADATA}: '{key}' must be one value, but holds an unescaped comma or is repeated: {value[:3]!r}."
            )
        return value

    def need(self, key: str) -> str:
        value = self.text(key)
        if value is None:
            raise SegmentCorrupt(f"{METADATA}: '{key}' is missing.", remedy="Build the segment again.")
        return value

    def number(self, key: str, default: int | None = None, *, low: int = -(2**63), high: int = 2**63 - 1) -> int:
        text = self.text(key) if default is not None else self.need(key)
        if text is None or text == "":
            if default is None:
                raise SegmentCorrupt(f"{METADATA}: '{key}' is empty.")
            return default
        try:
            value = int(text)
        except ValueError as error:
            raise SegmentCorrupt(f"{METADATA}: '{key}' is not a whole number: '{text[:80]}'.") from error
        if not low <= value <= high:
            raise SegmentCorrupt(f"{METADATA}: '{key}' is {value}, which is outside {low}..{high}.")
        return value

    def flag(self, key: str, default: bool) -> bool:
        text = self.text(key)
        return default if text is None else text.lower() == "true"

    def names(self, key: str) -> list[str]:
        value = self.values.get(key)
        items = value if isinstance(value, list) else [value or ""]
        return [i for i in dict.fromkeys(items) if i]


def parse_info(metadata_properties: bytes, creation_meta: bytes) -> SegmentInfo:
    """Both files -> description. An empty ``creation_meta`` means none. Raises SegmentCorrupt naming the key that is
    missing or wrong.
    """
    reader = _Reader(parse_properties(metadata_properties))
    docs = reader.number("segment.total.docs", low=0, high=_MAX_DOCS)
    columns: dict[str, ColumnInfo] = {}
    for kind in _LISTS:
        for name in reader.names(f"segment.{kind}.column.names"):
            columns[name] = _column(reader, name, docs)
    time_column = reader.text("segment.time.column.name")
    if time_column and time_column not in columns:
        columns[time_column] = _column(reader, time_column, docs)
    crc, created, data_crc = _creation(creation_meta)
    times = _times(reader)
    return SegmentInfo(
        name=reader.text("segment.name") or "",
        table=reader.text("segment.table.name") or "",
        total_docs=docs,
        crc=crc,
        data_crc=data_crc,
        creation_time_ms=created,
        start_time=times[0],
        end_time=times[1],
        time_unit=times[2],
        time_column=time_column or None,
        index_version=reader.text("segment.index.version") or "v1",
        columns=dict(sorted(columns.items())),
        custom=_custom(reader.values),
        realtime_start_offset=reader.text("segment.realtime.startOffset"),
        realtime_end_offset=reader.text("segment.realtime.endOffset"),
    )


def find_files(path: Path) -> Path:
    """The directory with ``metadata.properties``: ``v3/`` wins over the top. Raises
    SegmentCorrupt.
    """
    for folder in (path / "v3", path):
        if (folder / METADATA).is_file():
            return folder
    raise SegmentCorrupt(f"'{path.name}' holds no {METADATA}.", remedy="Give the directory of a segment.")


def read_info(path: Path) -> SegmentInfo:
    """Describe the segment in directory ``path`` (v1; v3; flattened v3). Raises SegmentCorrupt."""
    folder = find_files(path)
    meta = folder / CREATION_META
    try:
        created = meta.read_bytes() if meta.is_file() else b""
        if not created and (path / CREATION_META).is_file():
            created = (path / CREATION_META).read_bytes()
        return parse_info((folder / METADATA).read_bytes(), created)
    except OSError as error:
        raise SegmentCorrupt(f"'{path.name}' cannot be read: {error}.") from error


def _creation(data: bytes) -> tuple[int, int, int | None]:
    if not data:
        return NO_CRC, NO_CRC, None
    if len(data) < 16:
        raise SegmentCorrupt(f"{CREATION_META} has {len(data)} bytes, but at least 16 are needed.")
    crc, created = struct.unpack(">qq", data[:16])
    return crc, created, struct.unpack(">q", data[16:24])[0] if len(data) >= 24 else None


def _times(reader: _Reader) -> tuple[int | None, int | None, str | None]:
    unit = reader.text("segment.time.unit")
    start, end = reader.text("segment.start.time"), reader.text("segment.end.time")
    if not unit or not start or not end:
        return None, None, None
    return reader.number("segment.start.time"), reader.number("segment.end.time"), unit.upper()


def _custom(values: Mapping[str, Value]) -> dict[str, str]:
    return {k[7:]: ",".join(v) if isinstance(v, list) else v for k, v in values.items() if k.startswith("custom.")}


def _column(reader: _Reader, name: str, docs: int) -> ColumnInfo:
    key = f"column.{name}."
    data_type = reader.need(key + "dataType").upper()
    if data_type not in STORED_TYPES:
        raise SegmentCorrupt(f"{METADATA}: column '{name}' has the unknown data type '{data_type}'.")
    stored, single = STORED_TYPES[data_type], reader.flag(key + "isSingleValues", True)
    has_dictionary = reader.flag(key + "hasDictionary", True)
    raw = (reader.text(key + "forwardIndexEncoding") or ("DICTIONARY" if has_dictionary else "RAW")).upper() == "RAW"
    longest = reader.number(key + "lengthOfLongestElement", -1)
    text = stored in ("STRING",)
    low, high, default = (reader.text(key + k) for k in ("minValue", "maxValue", "defaultNullValue"))
    return ColumnInfo(
        name=name,
        data_type=data_type,
        kind=reader.need(key + "columnType").upper(),
        single_value=single,
        has_dictionary=has_dictionary,
        is_sorted=single and reader.flag(key + "isSorted", False),
        cardinality=reader.number(key + "cardinality", low=-1, high=_MAX_DOCS),
        total_docs=docs,
        bits_per_element=reader.number(key + "bitsPerElement", 0),
        total_entries=_entries(reader, key, docs, single),
        max_multi_values=reader.number(key + "maxNumberOfMultiValues", 0),
        min_value=from_safe(low) if text and low is not None else low,
        max_value=from_safe(high) if text and high is not None else high,
        format=_joined(reader.values.get(key + "datetimeFormat")),
        granularity=_joined(reader.values.get(key + "datetimeGranularity")),
        default_null=from_safe(default) if text and default is not None else default,
        entry_length=reader.number(key + "lengthOfEachEntry", max(longest, 0), low=0, high=_MAX_DOCS),
        longest_element=longest if longest >= 0 else None,
        raw_forward=raw,
        is_non_null=reader.flag(key + "isNonNull", False),
        partition_function=reader.text(key + "partitionFunction"),
        num_partitions=_optional_number(reader, key + "numPartitions"),
        partitions=_partitions(reader, key + "partitionValues"),
    )


def _entries(reader: _Reader, key: str, docs: int, single: bool) -> int:
    return docs if single else reader.number(key + "totalNumberOfEntries", 0, low=-1, high=_MAX_DOCS)


def _joined(value: Value | None) -> str | None:
    return ",".join(value) if isinstance(value, list) else value


def _optional_number(reader: _Reader, key: str) -> int | None:
    return reader.number(key) if reader.text(key) is not None else None


def _partitions(reader: _Reader, key: str) -> tuple[int, ...]:
    found: list[int] = []
    for item in reader.names(key):
        low, _, high = item.strip("[] ").partition(" ")
        try:
            first, last = int(low), int(high or low)
        except ValueError as error:
            raise SegmentCorrupt(f"{METADATA}: '{key}' is not a list of partition ids: '{item[:80]}'.") from error
        if not 0 <= first <= last <= first + _MAX_PARTITIONS - len(found):
            raise SegmentCorrupt(f"{METADATA}: '{key}' is not a list of partition ids: '{item[:80]}'.")
        found.extend(range(first, last + 1))
    return tuple(found)
