"""Forms of a new table: where its rows are, and what it is to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from django import forms

from segments.console.forms import EXACT, PlainForm, reason_field
from segments.domain.tables.design.edited_documents import ColumnChoice, TableChoice
from segments.domain.tables.design.new_documents import INDEX_LISTS, LISTS
from segments.domain.tables.schema import STORED_TYPES
from segments.errors import InvalidInput
from segments.names import check_raw_table_name

#: What a column can be.
TYPES: Final = tuple(t for t in STORED_TYPES if t not in ("MAP", "UUID"))
KINDS: Final = (("DIMENSION", "dimension"), ("METRIC", "metric"), ("DATE_TIME", "date or time"))
INDEXES: Final = (("", "none"), *((k, "no dictionary" if k == "raw" else k) for k in INDEX_LISTS))
_MOST_REPLICAS: Final = 100
#: Columns of a table's settings that a grid shows; those of wider tables are changed as JSON.
SHOWN: Final = 100
#: Columns of a new table that one page shows.
PAGE: Final = 50


class TableNameField(forms.CharField):
    """The name of the new table; one that a table cannot have is refused next to it."""

    def __init__(self, **more: Any) -> None:
        super().__init__(label="Name of the table", max_length=180, widget=forms.TextInput(attrs=EXACT), **more)

    def clean(self, value: Any) -> str:
        """The name without spaces around it; empty where none is required and none was given."""
        name = str(super().clean(value))
        try:
            return check_raw_table_name(name) if name else ""
        except InvalidInput as error:
            raise forms.ValidationError(str(error)) from error


def replicas_field(help_text: str) -> forms.IntegerField:
    """On how many servers the table is to be."""
    return forms.IntegerField(label="Replicas", min_value=1, max_value=_MOST_REPLICAS, help_text=help_text)


def retention_field() -> forms.IntegerField:
    """Days that rows are kept."""
    return forms.IntegerField(
        label="Days that rows are kept", min_value=1, max_value=100_000, required=False,
        help_text="Counted by the time column; older segments are deleted. Empty: for ever.",
    )  # fmt: skip


def replace_schema_field() -> forms.BooleanField:
    """Whether a schema that a deleted table left may go."""
    return forms.BooleanField(
        label="Replace the schema of this name that no table uses", required=False,
        help_text="A deleted table left it, with other columns. Without this the table cannot get this name.",
    )  # fmt: skip


class SourceForm(PlainForm):
    """A file that is sent, or the address of files that are there."""

    called: ClassVar[Mapping[str, str]] = {"inputDirURI": "address", "input.fs.prop.login": "login"}

    file = forms.FileField(
        label="A file of yours", required=False, help_text="CSV, JSON, Parquet, ORC or Avro; gzip, zstd and bzip2, too."
    )
    address = forms.CharField(
        label="Or files that are already there", required=False, max_length=2000,
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocapitalize": "off"}),
    )  # fmt: skip
    login = forms.CharField(
        label="Login to the store",
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={**EXACT, "list": "logins"}),
        help_text="The name of one that the administrator keeps (PINOTADMIN_INPUT_LOGINS), for an address such as "
        "s3://bucket/folder. Empty: the installation's own.",
    )
    name = TableNameField(required=False, help_text="Empty: made of the file's name.")

    def clean(self) -> dict[str, Any]:
        has_file, has_address = bool(self.cleaned_data.get("file")), bool(self.cleaned_data.get("address"))
        if has_file == has_address and not self.errors:
            raise forms.ValidationError({"file": "Choose a file, or give a folder: one of the two."})
        return self.cleaned_data


class TableForm(PlainForm):
    """The table as a whole."""

    called: ClassVar[Mapping[str, str]] = {"segmentsConfig.replication": "replicas", "job.tableSpec.tableName": "name"}

    name = TableNameField()
    replace_schema = replace_schema_field()
    loading = forms.ChoiceField(
        label="What each push does",
        choices=[
            ("refresh", "Replace all rows, in one switch that can be rolled back"),
            ("append", "Add its rows to those that are there"),
        ],
    )
    replicas = replicas_field("On how many servers each row is. With two, one server may be down.")
    retention = retention_field()
    reason = reason_field("Goes into the audit record.")

    @classmethod
    def of(cls, choice: TableChoice, reason: str) -> TableForm:
        """Filled with a choice."""
        return cls(initial=values_of(choice, reason))


def values_of(choice: TableChoice, reason: str) -> dict[str, str]:
    """The form's values for a choice."""
    return {
        "name": choice.name, "loading": "append" if choice.is_append else "refresh", "replicas": choice.replicas,
        "retention": choice.retention_days, "reason": reason,
    }  # fmt: skip


def posted_columns(data: Mapping[str, str], sources: Sequence[str]) -> dict[int, ColumnChoice]:
    """{place: column} of those that the page sent, which are those that it showed or that are left out; an odd value
    becomes the first of its list.
    """
    found = {}
    for at, source in enumerate(sources):
        if f"c{at}_type" not in data:
            continue

        def one(key: str, at: int = at) -> str:
            return str(data.get(f"c{at}_{key}", "")).strip()

        was = one("was") or source
        found[at] = ColumnChoice(
            one("name") or was, was, bool(one("keep")), listed(one("type"), TYPES),
            listed(one("kind"), tuple(LISTS)), one("format"), bool(one("multi")), one("null"), bool(one("key")),
            listed(one("index"), ("", *INDEX_LISTS)),
        )  # fmt: skip
    return found


def posted_start(data: Mapping[str, str], columns: int) -> int:
    """The first column that the page is to show: that of the pressed button, else as before; 0 for an odd one."""
    wanted = str(data.get("go", data.get("start", "")))
    at = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 7 else 0
    return at // PAGE * PAGE if at < columns else 0


def posted_table(data: Mapping[str, str], columns: Sequence[ColumnChoice]) -> TableChoice:
    """The table's settings as they were sent, also where they are wrong: the form says that."""
    at = str(data.get("time", ""))
    chosen = columns[int(at)] if at.isascii() and at.isdigit() and int(at) < len(columns) else None
    time_column = chosen.name if chosen is not None and chosen.is_kept else None
    return TableChoice(
        str(data.get("name", "")).strip(), data.get("loading") == "append", str(data.get("replicas", "")).strip(),
        str(data.get("retention", "")).strip(), time_column,
    )  # fmt: skip


def listed(value: str, known: Sequence[str]) -> str:
    """The value, if it is one of the known ones, else the first of these."""
    return value if value in known else known[0]
