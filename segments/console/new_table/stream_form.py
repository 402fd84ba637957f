"""Forms of a new table whose rows come from a stream: which stream, and what the table is to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django import forms

from segments.console.forms import EXACT, PlainForm, reason_field
from segments.console.new_table.forms import TableNameField, replace_schema_field, replicas_field, retention_field
from segments.domain.tables.design.edited_documents import TableChoice
from segments.domain.tables.design.stream_documents import StreamChoice

_DECODER: Final = "decoder.class.name"
_ADDRESS: Final = {"kafka": "broker.list", "redis": "url"}
#: Format -> the property of its decoder that must be given, and what it is called here.
_NEEDED: Final = {"csv": "header", "avro": "schema", "confluent-avro": "schema.registry.rest.url"}
_LONGEST: Final = 100_000
_START: Final = [("smallest", "With the first message that is kept"), ("largest", "With the next message that comes")]
_KEYS: Final = [
    ("", "Every message is a row"),
    ("newest", "Of rows with the same primary key the newest counts (upsert)"),
    ("first", "Of rows with the same primary key the first counts (dedup)"),
]


class StreamForm(PlainForm):
    """Which stream, and what its messages are."""

    kind = forms.ChoiceField(label="Kind of stream", choices=[("kafka", "Kafka"), ("redis", "Redis Streams")])
    topic = forms.CharField(label="Topic", max_length=250, widget=forms.TextInput(attrs=EXACT))
    address = forms.CharField(
        label="Address", required=False, max_length=2000, widget=forms.TextInput(attrs=EXACT),
        help_text="Kafka: host:port, several separated by commas. Redis: redis://host:port/0. Empty: the one that this "
        "installation is set up with.",
    )  # fmt: skip
    partitions = forms.IntegerField(
        label="Partitions", required=False, min_value=1, max_value=10_000,
        help_text="Redis only: the messages of partition 0 are in the Redis stream TOPIC-0, and so on. Empty: 1.",
    )  # fmt: skip
    format = forms.ChoiceField(
        label="Format of the messages",
        choices=[
            ("json", "JSON objects"),
            ("csv", "CSV, one record each"),
            ("avro", "Avro records of one schema"),
            ("confluent-avro", "Avro with Confluent's schema registry"),
        ],
    )
    detail = forms.CharField(
        label="What the format needs", required=False, max_length=_LONGEST,
        widget=forms.Textarea(attrs={"rows": 2, "class": "code", **EXACT}),
        help_text="CSV: the names of the columns, separated by commas. Avro: its schema as JSON, or the address of the "
        "schema registry. JSON: nothing.",
    )  # fmt: skip
    more = forms.CharField(
        label="More settings of the client", required=False, max_length=_LONGEST,
        widget=forms.Textarea(attrs={"rows": 2, "class": "code", **EXACT}),
        help_text="One key=value a line, such as security.protocol=SASL_SSL.",
    )  # fmt: skip
    name = TableNameField(required=False, help_text="Empty: made of the topic's name.")

    def clean_more(self) -> dict[str, str]:
        """Keys and values."""
        lines = [line.strip() for line in self.cleaned_data["more"].splitlines() if line.strip()]
        wrong = next((line for line in lines if "=" not in line), None)
        if wrong is not None:
            raise forms.ValidationError(f"There is no '=' in the line '{wrong.split()[0]}…'. Write key=value.")
        return {k.strip(): v.strip() for k, _, v in (line.partition("=") for line in lines)}

    def clean(self) -> dict[str, Any]:
        needed = _NEEDED.get(self.cleaned_data.get("format", ""))
        if needed and not self.cleaned_data.get("detail", "").strip():
            self.add_error("detail", f"This format needs it: it becomes the decoder's property {needed}.")
        return self.cleaned_data

    @property
    def stream(self) -> dict[str, str]:
        """The map of ``streamConfigMaps``."""
        data, kind = self.cleaned_data, str(self.cleaned_data["kind"])
        prefix = f"stream.{kind}."
        found = {"streamType": kind, f"{prefix}topic.name": data["topic"].strip()}
        found[prefix + _DECODER] = data["format"]
        if data["address"].strip():
            found[prefix + _ADDRESS[kind]] = data["address"].strip()
        if kind == "redis" and data["partitions"]:
            found[f"{prefix}partitions"] = str(data["partitions"])
        needed = _NEEDED.get(data["format"])
        if needed:
            found[f"{prefix}decoder.prop.{needed}"] = data["detail"].strip()
        return {**found, f"{prefix}consumer.prop.auto.offset.reset": "smallest", **data["more"]}


class StreamTableForm(PlainForm):
    """The table as a whole."""

    called: ClassVar[Mapping[str, str]] = {"segmentsConfig.replication": "replicas"}

    name = TableNameField()
    replace_schema = replace_schema_field()
    start = forms.ChoiceField(label="Where reading begins", choices=_START)
    keys = forms.ChoiceField(
        label="Rows with the same key", choices=_KEYS, required=False,
        help_text="Mark the columns of the primary key above.",
    )  # fmt: skip
    replicas = replicas_field("How many servers read each partition. With two, one server may be down.")
    retention = retention_field()
    rows = forms.IntegerField(
        label="Rows until a segment is committed", min_value=1, max_value=2**31 - 1, required=False,
        help_text="Then a server makes a file of what it has read. Empty: 5,000,000.",
    )  # fmt: skip
    hours = forms.IntegerField(
        label="Hours until it is committed anyway", min_value=1, max_value=10_000, required=False,
        help_text="Empty: 6.",
    )  # fmt: skip
    reason = reason_field("Goes into the audit record.")

    def __init__(self, choice: TableChoice, reason: str, *, is_bound: bool, replaces_schema: bool = False) -> None:
        stream = choice.stream or StreamChoice()
        values = {
            "name": choice.name, "start": stream.start, "keys": stream.keys, "replicas": choice.replicas,
            "retention": choice.retention_days, "rows": stream.rows, "hours": stream.hours, "reason": reason,
            "replace_schema": "on" if replaces_schema else "",
        }  # fmt: skip
        super().__init__(values if is_bound else None, initial=values)
        if stream.start not in dict(_START):  # of the JSON: a time, say
            field = self.fields["start"]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [*_START, (stream.start, stream.start)]


def posted_stream(data: Mapping[str, str]) -> StreamChoice:
    """The stream's settings as they were sent."""

    def one(key: str) -> str:
        return str(data.get(key, "")).strip()

    keys = one("keys")
    return StreamChoice(one("start") or "smallest", keys if keys in dict(_KEYS) else "", one("rows"), one("hours"))
