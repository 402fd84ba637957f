"""A new table on its way: what was found in the files, what a person made of it, and what is wrong with that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final

from segments.console.forms import PlainForm
from segments.console.new_table.document_texts import as_text, names_in, read_object, seen_of
from segments.console.new_table.forms import PAGE, posted_columns, posted_start, posted_table
from segments.console.new_table.stream_form import posted_stream
from segments.datatypes.inference.fit import misfits
from segments.datatypes.inference.written_times import millis_of, moment
from segments.datatypes.shown_value import plain_text
from segments.domain.formats.json_model import Model, read_model
from segments.domain.formats.plural import counted
from segments.domain.tables.design.edited_documents import (
    ColumnChoice,
    TableChoice,
    column_choices,
    edited_config,
    edited_schema,
    table_choice,
)
from segments.domain.tables.design.found_column import FoundColumn
from segments.domain.tables.edits.columns import column_rows
from segments.domain.tables.schema import new_schema
from segments.domain.tables.schema_model import SchemaModel
from segments.domain.tables.table_config import check_against_schema, parse_table_config
from segments.domain.tables.table_model import TableModel
from segments.errors import InvalidInput, PinotAdminError
from segments.services.tables.design.inferred_table import InferredTable, preview
from segments.spark.reading.sample.formats import reader_configs

#: Rows of the sample, at most and at least, and values of it on a page.
_ROWS: Final = 50
_LEAST_ROWS: Final = 5
_VALUES: Final = 500
#: What the grid and the settings read of a document must be of the types that Pinot reads it as.
_MODELS: Final[Mapping[str, type[Model]]] = {"schema": SchemaModel, "config": TableModel}
#: Formats that a date fits whose day is not above 12, whichever of both is meant.
_SWAPPED: Final = {
    "SIMPLE_DATE_FORMAT|MM/dd/yyyy": "SIMPLE_DATE_FORMAT|dd/MM/yyyy",
    "SIMPLE_DATE_FORMAT|dd/MM/yyyy": "SIMPLE_DATE_FORMAT|MM/dd/yyyy",
}
_DAY_AND_MONTH: Final = len("SIMPLE_DATE_FORMAT|MM/dd/yyyy")


@dataclass
class Draft:
    """``schema`` and ``config`` are the documents as they would be written; ``texts`` what the two text fields hold.
    ``faults``: {where: what is wrong}; where is ``schema``, ``config``, ``table`` or ``cN`` for column N.
    ``asked``: the first column that the page is to show.
    """

    inferred: InferredTable
    columns: list[ColumnChoice]
    table: TableChoice
    schema: dict[str, Any]
    config: dict[str, Any]
    texts: dict[str, str] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    asked: int = 0

    @property
    def start(self) -> int:
        """The first column that the page shows: what was asked for, or where the first wrong one is."""
        wrong = sorted(int(where[1:]) for where in self.faults if where[1:].isdigit())
        if not wrong or any(self.asked <= at < self.asked + PAGE for at in wrong):
            return self.asked
        return wrong[0] // PAGE * PAGE

    @property
    def job(self) -> dict[str, Any]:
        """The job of the first push, with the names that the columns got."""
        job, reader = dict(self.inferred.job), self.inferred.rows.reader
        names = tuple(c.name for c in self.columns)
        if self.inferred.rows.is_text and names != tuple(f.source for f in self.inferred.columns):
            skips = reader.skip_header if reader.header is not None else True
            job["recordReaderSpec"] = reader_configs(replace(reader, header=names, skip_header=skips))
        return {**job, "tableSpec": {"tableName": self.table.name}}

    @property
    def shown(self) -> list[FoundColumn]:
        """The columns that the page's grid has."""
        return self.inferred.columns[self.start : self.start + PAGE]

    @property
    def pages(self) -> list[tuple[int, int, int]]:
        """(place of the first column, its number, that of the last) of all pages of the grid."""
        count = len(self.inferred.columns)
        return [(at, at + 1, min(at + PAGE, count)) for at in range(0, count, PAGE)]

    @property
    def elsewhere(self) -> list[tuple[int, ColumnChoice]]:
        """Columns of the other pages, with their places, of which the documents do not say everything."""
        return [
            (at, choice)
            for at, (found, choice) in enumerate(zip(self.inferred.columns, self.columns, strict=True))
            if not self.start <= at < self.start + PAGE and (not choice.is_kept or choice.name != found.name)
        ]

    @property
    def not_in_files(self) -> list[str]:
        """Columns of the schema that no row brings a value for, and the grid does not show."""
        named = {c.name for c in self.columns}
        return [c.name for c in column_rows(self.schema, self.config) if c.name not in named]

    def refuse(self, error: PinotAdminError, form: PlainForm) -> None:
        """Put a refusal where what it names is: a column, a field of the form, the text of a document, else the form
        as a whole.
        """
        named = str(error.data.get("field") or "")
        if form.has_place_for(named) or not isinstance(error, InvalidInput):
            form.refuse(error, "name" if error.status == HTTPStatus.CONFLICT else None)
        elif (place := _place(self, error)) != "schema" or named.startswith("schema"):
            self.faults[place] = str(error)
        else:
            self.faults["config"] = str(error)

    def show_faults(self, form: PlainForm) -> None:
        """The faults of the table as a whole become errors of its form, next to the field where there is one."""
        for where in ("retention", "keys", "table"):
            if where in self.faults:
                form.add_error(where if where in form.fields else None, self.faults[where])

    @property
    def seen(self) -> str:
        """What the text fields are known by when they come back: then nobody has edited them."""
        return seen_of(self.texts.get("schema", ""), self.texts.get("config", ""))


@dataclass(frozen=True)
class GridRow:
    """One column of the grid. ``parsed``: what the example means as a time; ``wrong``: a fault; ``note``: a remark."""

    at: int
    found: FoundColumn
    choice: ColumnChoice
    is_time_column: bool
    parsed: str
    note: str
    wrong: str


def first_draft(inferred: InferredTable) -> Draft:
    """As suggested."""
    return _shown(_draft(inferred, inferred.schema, inferred.config))


def posted_draft(inferred: InferredTable, data: Mapping[str, str]) -> Draft:
    """As sent by the page's form: from the documents where their text was edited, else from the grid."""
    texts = {key: str(data.get(key, "")).replace("\r\n", "\n") for key in ("schema", "config")}
    is_edited = str(data.get("seen", "")) != seen_of(texts["schema"], texts["config"])
    bodies, faults = {}, {}
    for key, text in texts.items():
        try:
            bodies[key] = read_object(text)
            read_model(_MODELS[key], bodies[key], key)
        except InvalidInput as error:
            faults[key] = str(error)
    sent, start = posted_columns(data, [f.source for f in inferred.columns]), posted_start(data, len(inferred.columns))
    if faults:
        draft = _draft(inferred, inferred.schema, inferred.config)
        draft.columns = [sent.get(at, column) for at, column in enumerate(draft.columns)]
        draft.table = _table(inferred, data, draft.columns, inferred.config)
        draft.texts, draft.faults, draft.asked = texts, faults, start
        return draft
    names = [str(data.get(f"c{at}_was", "")).strip() or f.name for at, f in enumerate(inferred.columns)]
    if is_edited:
        named = [sent[at].name if at in sent else name for at, name in enumerate(names)]
        return _shown(_checked(_draft(inferred, bodies["schema"], bodies["config"], named, start)))
    choices = column_choices(bodies["schema"], bodies["config"], names)
    columns = [sent.get(at, choice) for at, choice in enumerate(choices)]
    table = _table(inferred, data, columns, bodies["config"])
    schema = edited_schema(bodies["schema"], table.name, columns)
    config = edited_config(bodies["config"], table, columns)
    return _shown(_checked(Draft(inferred, columns, table, schema, config, asked=start)))


def grid_rows(draft: Draft) -> list[GridRow]:
    """The grid's rows, with what is known of each column; of a wide table those of the page."""
    found = []
    for at, column in enumerate(draft.shown, draft.start):
        choice = draft.columns[at]
        is_time = choice.kind == "DATE_TIME"
        millis = millis_of(column.example, choice.format or "TIMESTAMP") if is_time and column.example else None
        parsed = "" if millis is None else moment(millis)
        found.append(
            GridRow(
                at, column, choice, choice.name == draft.table.time_column, parsed, _note(draft, column, choice),
                draft.faults.get(f"c{at}", ""),
            )
        )  # fmt: skip
    return found


def sample_rows(draft: Draft) -> list[list[str | None]]:
    """The first rows, in the order of the columns that are shown; None: null."""
    start, count = draft.start, max(_LEAST_ROWS, min(_ROWS, _VALUES // max(len(draft.shown), 1)))
    rows = [list(row.values())[start : start + PAGE] for row in preview(draft.inferred, count)]
    return [[None if value is None else plain_text(value) for value in row] for row in rows]


def _table(
    inferred: InferredTable, data: Mapping[str, str], columns: list[ColumnChoice], config: Mapping[str, Any]
) -> TableChoice:
    table = posted_table(data, columns)
    if "time" not in data:  # the time column is none of those that the grid shows
        table = replace(table, time_column=table_choice(config).time_column)
    return table if inferred.stream is None else replace(table, stream=posted_stream(data))


def _draft(inferred: InferredTable, schema: Any, config: Any, names: list[str] | None = None, start: int = 0) -> Draft:
    shown = names or [f.name for f in inferred.columns]
    return Draft(inferred, column_choices(schema, config, shown), table_choice(config), schema, config, asked=start)


def _shown(draft: Draft) -> Draft:
    """With the documents as text."""
    draft.texts = {"schema": as_text(draft.schema), "config": as_text(draft.config)}
    return draft


def _checked(draft: Draft) -> Draft:
    """With what is wrong, as far as it can be known here."""
    seen: set[str] = set()
    for at, column in enumerate(draft.columns):
        if column.name in seen and column.is_kept:
            draft.faults[f"c{at}"] = f"Column '{column.name}' is there twice. Give it another name."
        seen.add(column.name)
    try:
        schema = new_schema(draft.schema)
    except InvalidInput as error:
        draft.faults[_place(draft, error)] = str(error)
        return draft
    if not schema.fields:
        draft.faults["table"] = "No column is chosen. Choose at least one."
    try:
        check_against_schema(parse_table_config(draft.config), schema)
    except InvalidInput as error:
        draft.faults["config"] = str(error)
    if draft.table.stream is not None and not draft.table.time_column:
        draft.faults["table"] = "Rows of a stream need a time column: make a column a date or time, and mark it."
    if draft.table.stream is not None and draft.table.stream.keys and not any(c.in_key for c in draft.columns):
        draft.faults["keys"] = "Mark the columns of the primary key first."
    if draft.table.retention_days and not draft.table.time_column:
        draft.faults["retention"] = "Rows are deleted by their time: choose a time column first."
    return draft


def _place(draft: Draft, error: InvalidInput) -> str:
    """The column that an error of the schema is about, else the schema."""
    named = set(names_in(error.message))
    return next((f"c{at}" for at, c in enumerate(draft.columns) if c.name in named), "schema")


def _note(draft: Draft, column: FoundColumn, choice: ColumnChoice) -> str:
    if not choice.is_kept:
        return ""
    values = draft.inferred.rows.table.column(column.source)
    delimiter = draft.inferred.rows.reader.multi_value or ";" if choice.multi_value else None
    count, examples = misfits(
        values, choice.data_type, text_format=choice.format if choice.kind == "DATE_TIME" else "", delimiter=delimiter
    )
    if count:
        return f"{counted(count, 'value', 'does', 'do')} not fit: {', '.join(examples)}"
    other = _SWAPPED.get(choice.format[:_DAY_AND_MONTH]) if choice.kind == "DATE_TIME" else None
    if other and not misfits(values, "STRING", text_format=other + choice.format[_DAY_AND_MONTH:], delimiter=None)[0]:
        return f"Every value fits {other.partition('|')[2]}, too: check which one is the day."
    if column.nearly and choice.data_type == "STRING":
        wrong = counted(column.misfits, "value")
        return f"All but {wrong} would fit {column.nearly}: {', '.join(column.misfit_examples)}"
    return ""
