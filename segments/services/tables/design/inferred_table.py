"""What the files of a folder would be as a table: columns, schema, config, and the job that pushes them. Reads only the
beginning of one file, and changes nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from segments.datatypes.inference.columns import find_columns
from segments.domain.formats.plural import counted
from segments.domain.push.file_system import from_pinot_fs_specs
from segments.domain.push.push_model import RecordReader
from segments.domain.push.push_plan import InputFile
from segments.domain.push.reader_spec import ReaderSpec, parse_reader
from segments.domain.push.store_uri import is_remote
from segments.domain.tables.design.found_column import FoundColumn
from segments.domain.tables.design.given_names import is_plain, table_name_of
from segments.domain.tables.design.new_documents import new_config_body, new_schema_body
from segments.domain.tables.design.suggestions import key_candidates
from segments.errors import NotFound
from segments.gateways.input_files.choice import Choice
from segments.gateways.input_files.source import InputSource, input_source
from segments.names import check_raw_table_name
from segments.services.core.context import Context
from segments.spark.reading.sample.first_rows import FirstRows, read_first_rows
from segments.spark.reading.sample.formats import reader_configs

_PUSH: Final = "SegmentCreationAndMetadataPush"
#: Names that a note lists.
_NAMED: Final = 5
_SPECIAL: Final = re.compile(r"([\\*?\[\]{}])")
_ENDING: Final = re.compile(r"(\.(?:csv|tsv|txt|json|jsonl|ndjson|parquet|orc|avro)(?:\.(?:gz|gzip|zst|bz2))?)\Z", re.I)


@dataclass(frozen=True)
class InputWish:
    """Which files: ``address`` is a folder or one file, below the input roots. ``reader``: how they are read, and
    ``has_header`` whether the first line of CSV files names the columns; None: found out.
    """

    address: str
    table: str = ""
    include: str | None = None
    pinot_fs: Sequence[Mapping[str, Any]] | None = None
    reader: RecordReader | None = None
    has_header: bool | None = None


@dataclass(frozen=True)
class InferredTable:
    """``file`` is the one that was read from, of ``files`` with ``size`` bytes together. ``job`` pushes them all.

    Of a ``stream`` (its config map) ``file`` is the topic, and there is no job.
    """

    name: str
    file: str
    files: int
    size: int
    rows: FirstRows
    columns: list[FoundColumn]
    schema: dict[str, Any]
    config: dict[str, Any]
    job: dict[str, Any]
    notes: list[str]
    stream: Mapping[str, str] | None = None

    def to_json(self, shown: int) -> dict[str, Any]:
        """As the REST API answers it, with ``shown`` rows."""
        found: dict[str, Any] = {"tableName": self.name}
        if self.stream is None:
            found |= {"file": self.file, "files": self.files, "bytes": self.size}
        else:
            found |= {"topic": self.file}
        return {
            **found,
            "sampledRows": self.rows.table.num_rows,
            "isWhole": self.rows.is_whole and self.files <= 1,
            "columns": [c.to_json() for c in self.columns],
            "primaryKeyCandidates": key_candidates(self.columns),
            "notes": self.notes,
            "schema": self.schema,
            "tableConfig": self.config,
            **({"job": self.job} if self.stream is None else {}),
            "rows": preview(self, shown),
        }


def infer_table(ctx: Context, wish: InputWish, *, roots: Sequence[str]) -> InferredTable:
    """Read the beginning of the first file, and say what the table could be.

    Raises InvalidInput naming the field or the file, Forbidden for what is outside ``roots``, NotFound, Unavailable.
    """
    given = parse_reader(wish.reader) if wish.reader is not None else None
    system = _file_system(wish)
    rules = replace(ctx.inputs, roots=tuple(roots))
    source, folder, include, files = _files(
        lambda place: input_source(rules.access(place, system, table=wish.table)), wish
    )
    first = next((f for f in files if f.size), files[0])
    rows = read_first_rows(first, source, given, has_header=wish.has_header)
    columns = find_columns(rows.table, rows.names, is_text=rows.is_text, multi_value=rows.reader.multi_value)
    called = first.path if len(files) == 1 else wish.address
    name = check_raw_table_name(wish.table or table_name_of(called) or "new_table")
    job = _job(name, wish.address if folder is None else folder, include, rows.reader, wish)
    return InferredTable(
        name, first.path, len(files), sum(f.size for f in files), rows, columns, new_schema_body(name, columns),
        new_config_body(name, columns), job, _notes(rows, files),
    )  # fmt: skip


def preview(inferred: InferredTable, count: int) -> list[dict[str, Any]]:
    """The first rows as values of JSON."""
    rows = inferred.rows.table.slice(0, count).to_pylist(maps_as_pydicts="lossy")
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _files(
    open_source: Callable[[str], InputSource], wish: InputWish
) -> tuple[InputSource, str | None, str | None, list[InputFile]]:
    """(source, the folder if it is not the address itself, pattern of the files, files)."""
    address = wish.address.rstrip("/") or "/"
    try:
        source = open_source(address)
        folder = source.folder(address)
    except NotFound as missing:
        parent, slash, name = address.rpartition("/")
        if is_remote(address) and not parent.partition("://")[2]:
            raise
        parent = parent or slash or "."
        source = open_source(parent)
        choice = Choice(False, "glob:**/" + _SPECIAL.sub(r"\\\1", name))
        one = source.list(source.folder(parent), choice)
        if not one:
            raise missing from None
        return source, parent, choice.include, one
    found = _listed(source, folder, Choice(True, wish.include))
    include = wish.include or _common_ending(found)
    return source, None, include, [f for f in found if wish.include or not include or f.path.endswith(include[9:])]


def _listed(source: InputSource, folder: str, choice: Choice) -> list[InputFile]:
    found = source.list(folder, choice)
    if not found:
        raise choice.none_found(folder)
    return found


def _common_ending(files: Sequence[InputFile]) -> str | None:
    """A pattern for the files of the most usual kind, where a folder has other files, too."""
    endings = Counter(match[1] for f in files if (match := _ENDING.search(f.path)))
    if not endings or (len(endings) == 1 and endings.total() == len(files)):
        return None
    return f"glob:**/*{endings.most_common(1)[0][0]}"


def _job(name: str, folder: str, include: str | None, reader: ReaderSpec, wish: InputWish) -> dict[str, Any]:
    job: dict[str, Any] = {"jobType": _PUSH, "inputDirURI": folder}
    if include:
        job["includeFileNamePattern"] = include
    if wish.pinot_fs:
        job["pinotFSSpecs"] = [dict(p) for p in wish.pinot_fs]
    return {**job, "recordReaderSpec": reader_configs(reader), "tableSpec": {"tableName": name}}


def _file_system(wish: InputWish) -> Mapping[str, str]:
    scheme, found, _ = wish.address.partition("://")
    return from_pinot_fs_specs(list(wish.pinot_fs or ()), scheme) if found and is_remote(wish.address) else {}


def _notes(rows: FirstRows, files: Sequence[InputFile]) -> list[str]:
    notes = []
    if len(files) > 1:
        notes.append(f"The columns are those of the first of {counted(len(files), 'file')}.")
    if not rows.is_whole:
        notes.append(f"Types and counts are those of the first {counted(rows.table.num_rows, 'row')}.")
    if not rows.table.num_rows:
        notes.append("The file has no row, so every column is taken as text.")
    if rows.bad:
        notes.append(f"{counted(rows.bad, 'line')} of the sample cannot be read as rows: a push is refused for them.")
    if rows.reader.null_string is not None:
        notes.append(f"The text '{rows.reader.null_string}' is read as null, besides empty text.")
    quoted = [n for n in rows.table.column_names if not rows.is_text and not is_plain(n)]
    if quoted:
        more = ", …" if len(quoted) > _NAMED else ""
        notes.append(f"Queries have to put names of columns in double quotes: {', '.join(quoted[:_NAMED])}{more}.")
    if rows.reader.header is not None:
        was = "replaced, since queries could not use them" if rows.reader.skip_header else "made up: the file has none"
        notes.append(f"Column names were {was}.")
    return notes


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, str | int | float | bool | dict) else str(value)
