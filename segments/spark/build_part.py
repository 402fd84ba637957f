"""Builds one segment of a push from its rows and stages it in the deep store; runs in an executor, or anywhere else.

A staged part is two files, ``part-00003.tar.gz`` and then ``part-00003.json``: the second exists only when the first is
whole, so it says, without a database, that the part is done. The same part gives the same bytes each time: name, cut
and creation time are the plan's.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from segments.datatypes.timecolumn import segment_times
from segments.domain.push.push_plan import InputFile, Part, Piece, Unit, part_from_json
from segments.domain.push.push_report import PushReport
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.push.reader_spec import from_json as reader_from_json
from segments.domain.segments.segment_names import Facts, NameRule, segment_name
from segments.domain.tables.datetime_format import MILLIS
from segments.domain.tables.schema import Schema, parse_schema
from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.errors import InvalidInput, PinotAdminError, StateConflict
from segments.gateways.deep_store.access import StoreAccess
from segments.gateways.deep_store.deepstore import STAGING, DeepStore
from segments.gateways.input_files.access import access_from_json
from segments.gateways.input_files.same_bytes import marks_of
from segments.gateways.input_files.source import InputSource, input_source
from segments.segmentfile import SegmentInfo, parse_info, write_stored
from segments.segmentfile.columns.complex_type import read_complex_type
from segments.segmentfile.columns.ingest import read_ingestion, reading_schema
from segments.segmentfile.format.info import find_files
from segments.segmentfile.packed.tar import write_tar
from segments.spark.part_input import PartInput
from segments.spark.reading.joined import joined
from segments.spark.reading.notes import FileNotes
from segments.spark.reading.rows import read_rows
from segments.spark.task_log import task_log

#: What values may raise that no check has foreseen: another attempt meets them again.
_UNFORESEEN: Final = (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, pa.ArrowException)


@dataclass(frozen=True)
class BuildJob:
    """What all parts of a push share, in plain values. ``creation_ms`` is the push's start, epoch milliseconds."""

    push_id: str
    deep_store_url: str
    schema: dict[str, Any]
    config: dict[str, Any]
    reader: dict[str, Any]
    names: dict[str, Any]
    creation_ms: int
    fail_on_empty: bool = False
    #: Share of the rows that may be bad (0 to 1); they are left out. Whether more of all rows are bad is for the caller
    #: to find out from the reports.
    error_rate: float = 0.0
    #: Share of a file's rows that may be bad; a file with more fails its part, naming the first (None: no file fails
    #: by its number of bad rows, and ``error_rate`` counts).
    file_error_rate: float | None = None
    #: Is it to be noted which bytes were read of each file?
    marks_files: bool = False
    #: What may be read as input, see ``FileAccess``.
    access: dict[str, Any] = field(default_factory=dict)
    #: How the deep store is reached, see ``StoreAccess``.
    store_access: dict[str, Any] = field(default_factory=dict)

    @property
    def deep_store(self) -> DeepStore:
        """Where segments are staged."""
        return DeepStore(self.deep_store_url, access=StoreAccess.from_json(self.store_access))

    @property
    def source(self) -> InputSource:
        """Where the input files are read."""
        return input_source(access_from_json(self.access))


@dataclass(frozen=True)
class Built:
    """A staged part: ``size_bytes`` of the tar, ``metadata`` and ``creation`` (hex) are the segment's own two
    description files.

    ``report`` is what its input showed (``PushReport``), ``marks`` are etag and checksum of its files by path, as far
    as they are known. Without a ``name`` nothing was staged: it has bad rows, and
    none may be.
    """

    ordinal: int
    name: str
    rows: int
    size_bytes: int
    crc: int
    metadata: str
    creation: str
    report: dict[str, Any] = field(default_factory=dict)
    marks: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def info(self) -> SegmentInfo:
        """The segment's description, as registration wants it."""
        return parse_info(self.metadata.encode(), bytes.fromhex(self.creation))


@dataclass(frozen=True)
class Failed:
    """A part that could not be built, and which of its files is at fault: nothing was staged for it.

    ``line`` is the line of a text file, from 1, if it is known. ``is_changed``: the file is gone, or no longer the one
    that was listed; another listing finds what is there now. ``may_pass``: its store did not give it, and may the next
    time. ``report`` is what the part's input showed so far
    (``PushReport``), {} when nothing was read. ``log``: what was raised below the error, and where; empty: nothing was.
    """

    ordinal: int
    file: str
    error: str
    remedy: str = ""
    line: int | None = None
    is_changed: bool = False
    report: dict[str, Any] = field(default_factory=dict)
    log: str = ""
    may_pass: bool = False

    def refusal(self) -> InvalidInput:
        """The same as an error."""
        return InvalidInput(self.error, remedy=self.remedy)


def tar_path(push_id: str, ordinal: int) -> str:
    """Where a part's tar is staged."""
    return f"{STAGING}/{push_id}/part-{ordinal:05d}.tar.gz"


def note_path(push_id: str, ordinal: int) -> str:
    """Where a part's note of completion is staged."""
    return f"{STAGING}/{push_id}/part-{ordinal:05d}.json"


def build_part(job: BuildJob, part_body: Mapping[str, Any]) -> Built:
    """Read, convert, write, pack and stage one part. Raises InvalidInput naming the file, for what is not a single
    row's fault.

    Bad rows are left out and reported; where none may be, nothing is staged then. An error's ``data`` names the
    ``file`` at fault, and its ``line`` where that is known.
    """
    part, schema, config = part_from_json(part_body), parse_schema(job.schema), parse_table_config(job.config)
    ingestion = read_ingestion(schema, config)
    seen = PartInput(reader_from_json(job.reader), schema, config, job.creation_ms, job.source)
    before = [_unchanged(seen.source, piece.file) for piece in part.pieces]
    with _read_whole(seen.source, before):
        table = _rows(part, seen, reading_schema(schema, ingestion), ingestion.made_columns)
        marks = marks_of(seen.source, before) if job.marks_files else {}
    if config.time_column not in ingestion.made_columns:
        _check_time_column(table, seen, config)
    columns = seen.converted(table, may_leave_out=job.error_rate > 0 or job.file_error_rate is not None)
    if job.file_error_rate is not None:
        seen.check_files(job.file_error_rate)
    if columns is None:
        return Built(part.ordinal, "", 0, 0, 0, "", "", seen.report().to_json())
    stored, masks = columns
    if not stored.num_rows and job.fail_on_empty:
        why = "has no rows" if not table.num_rows else "has no rows that the table's filter leaves"
        raise InvalidInput(
            f"Input file '{part.source}' {why}.", remedy="Remove it, or set failOnEmptySegment to false."
        )
    del table  # the stored columns are enough from here on
    facts = _facts(part, stored, schema, config, job.creation_ms)
    name = segment_name(NameRule(**job.names), facts)
    with tempfile.TemporaryDirectory(prefix="push-") as folder:
        info = write_stored(stored, masks, schema, config, name, Path(folder), creation_time_ms=job.creation_ms)
        return stage(job.deep_store, job.push_id, part.ordinal, info, Path(folder), seen.report(), marks)


def read_notes(store: DeepStore, push_id: str) -> list[Built]:
    """What was staged for a push, by ordinal. Its tars may have been moved to their places since."""
    folder = f"{STAGING}/{push_id}"
    found = []
    for file in store.files(folder):
        if file.name.endswith(".json"):
            with store.open(f"{folder}/{file.name}") as note:
                found.append(Built(**json.loads(note.read())))
    return found


def _rows(part: Part, seen: PartInput, schema: Schema, made: Set[str]) -> pa.Table:
    tables = []
    for piece in part.pieces:
        notes = FileNotes(first_row=piece.start if piece.unit is Unit.ROWS else 0)
        with _at_fault(piece):
            table = read_rows(piece, seen.reader, schema, notes, seen.source, read_complex_type(seen.config))
            _check_complete(piece, table, seen.reader, schema, made)
        seen.add(piece, table.num_rows, notes)
        tables.append(table)
    return joined(tables)


@contextmanager
def _at_fault(piece: Piece) -> Iterator[None]:
    """Errors of the block name the piece's file."""
    try:
        yield
    except PinotAdminError as error:
        error.data.setdefault("file", piece.file.path)
        raise


@contextmanager
def _read_whole(source: InputSource, before: Sequence[InputFile]) -> Iterator[None]:
    """What the block reads is of one version of each file: what one replaced meanwhile gave, rows or an error, says
    nothing of either version. Raises as ``_unchanged``.
    """
    try:
        yield
    except PinotAdminError as error:
        if error.permanent:
            for file in before:
                _unchanged(source, file)
        raise
    for file in before:
        _unchanged(source, file)


def _unchanged(source: InputSource, file: InputFile) -> InputFile:
    """The file as it is now, with its etag where there is one: the check after reading finds a file that was replaced
    by one of its size within the same second.
    """
    try:
        return source.check_unchanged(file)
    except PinotAdminError as error:
        error.data.update(file=file.path, is_changed=isinstance(error, StateConflict))
        raise


def _check_complete(piece: Piece, table: pa.Table, reader: ReaderSpec, schema: Schema, made: Set[str]) -> None:
    """A column that no row of a file has is most often a misspelt or dropped one: only the schema may say what to put
    there. Of a JSON file that is cut, other pieces may have it.

    ``made`` are the columns that the table's transforms compute.
    """
    if reader.format == "json" and not piece.is_whole:
        return
    there = made | set(table.column_names)
    missing = [f.name for f in schema.fields if f.name not in there and f.raw.get("defaultNullValue") is None]
    if missing and table.num_rows:
        where = " line 1" if reader.format == "csv" and reader.header is None else ""
        raise InvalidInput(
            f"Input file '{piece.file.path}'{where}: there is no column {', '.join(map(repr, missing[:8]))} of schema "
            f"'{schema.name}'.",
            remedy="Add it to the file, or give it a defaultNullValue in the schema.",
        )


def _check_time_column(table: pa.Table, seen: PartInput, config: TableConfig) -> None:
    column = config.time_column
    if column is not None and column not in table.column_names and table.num_rows:
        raise InvalidInput(
            f"Input file '{seen.path}' has no time column '{column}'.",
            remedy="Add it, or change segmentsConfig.timeColumnName.",
        )


def _facts(part: Part, stored: pa.Table, schema: Schema, config: TableConfig, now_ms: int) -> Facts:
    path = part.pieces[0].file.path
    time = schema.by_name.get(config.time_column or "")
    if time is None or not stored.num_rows:
        return Facts(part.sequence, path)
    values = stored.column(time.name)
    ends: Any = pc.min_max(values).as_py()
    start, end, unit = segment_times(time, values, now_ms)
    return Facts(part.sequence, path, ends["min"], ends["max"], int(start * MILLIS[unit]), int(end * MILLIS[unit]))


def stage(
    store: DeepStore,
    push_id: str,
    ordinal: int,
    info: SegmentInfo,
    folder: Path,
    report: PushReport | None = None,
    marks: dict[str, dict[str, str]] | None = None,
) -> Built:
    """Pack the segment that stands in ``folder`` under its name, and put it where a push's, or a session's, parts wait:
    the tar, then its note.
    """
    tar = folder / "segment.tar.gz"
    write_tar(folder / info.name, tar)
    size = store.put(tar, tar_path(push_id, ordinal))
    files = find_files(folder / info.name)
    built = Built(
        ordinal, info.name, info.total_docs, size, info.crc,
        (files / "metadata.properties").read_text(encoding="utf-8"), (files / "creation.meta").read_bytes().hex(),
        report.to_json() if report is not None else {}, marks or {},
    )  # fmt: skip
    note = folder / "note.json"
    note.write_text(json.dumps(asdict(built)), encoding="utf-8")
    store.put(note, note_path(push_id, ordinal))
    return built


def try_build_part(job: BuildJob, part_body: Mapping[str, Any]) -> dict[str, Any]:
    """As ``build_part``, in plain values: of a ``Built``, or, under ``failed``, of a ``Failed``, so that Spark does not
    try bad input again. Raises what another attempt may mend; where files fail one by one, an input file that its store
    does not give is such a failure, too, so that the others go on.
    """
    try:
        return asdict(build_part(job, part_body))
    except PinotAdminError as error:
        may_pass = not error.permanent
        if may_pass and (job.file_error_rate is None or "file" not in error.data):
            raise
        failed = replace(_failure(part_from_json(part_body), error), may_pass=may_pass)
    except _UNFORESEEN as error:
        part = part_from_json(part_body)
        what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        failed = Failed(
            part.ordinal, part.pieces[0].file.path, f"Input file '{part.source[:1000]}': {what}.", log=task_log(error)
        )
    return {"ordinal": part_body["ordinal"], "failed": asdict(failed)}


def _failure(part: Part, error: PinotAdminError) -> Failed:
    found = error.data
    file = str(found.get("file") or part.pieces[0].file.path)
    return Failed(
        part.ordinal,
        file,
        error.message,
        error.remedy,
        found.get("line"),
        bool(found.get("is_changed")),
        found.get("report") or {},
        task_log(error) if error.__cause__ is not None else "",
    )


def read_answers(answers: Sequence[Mapping[str, Any]]) -> tuple[list[Built], list[Failed]]:
    """What ``try_build_part`` answered, by outcome."""
    built = [Built(**a) for a in answers if "failed" not in a]
    return built, [Failed(**a["failed"]) for a in answers if "failed" in a]
