"""The fields of a table's settings, and its columns as the page's grid sends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from segments.console.forms import EXACT, PlainForm, reason_field
from segments.console.new_table.forms import SHOWN, TYPES, listed
from segments.domain.tables.design.new_documents import INDEX_LISTS, LISTS
from segments.domain.tables.edits.columns import ColumnRow
from segments.domain.tables.edits.settings import Setting


class SettingsForm(PlainForm):
    """One field for each setting, and the reason."""

    def __init__(self, settings: Sequence[Setting], values: Mapping[str, str], reason: str, *, is_bound: bool) -> None:
        texts = {**values, "reason": reason}
        super().__init__(texts if is_bound else None, initial=texts)
        self.fields.update({s.name: _field(s, values[s.name]) for s in settings})
        self.fields["reason"] = reason_field("Goes into the history and the audit record.")


def posted_columns(data: Mapping[str, str], rows: Sequence[ColumnRow], stored: set[str]) -> list[ColumnRow]:
    """The grid as it was sent, for the columns ``rows`` that it showed; of those that are ``stored`` only what may
    change. A new one that is not ticked any more is left out; the row for one more is added where it has a name.
    """
    found = []
    for at, row in enumerate(rows[:SHOWN]):
        if data.get(f"c{at}_was", "") != row.name:
            found.append(row)
        elif row.name in stored or f"c{at}_keep" in data:
            found.append(_posted(data, f"c{at}", row, is_new=row.name not in stored))
    name = str(data.get("new_name", "")).strip()
    more = [_posted(data, "new", ColumnRow(name), is_new=True)] if name else []
    return [*found, *rows[SHOWN:], *more]


def _posted(data: Mapping[str, str], prefix: str, row: ColumnRow, *, is_new: bool) -> ColumnRow:
    def one(key: str, before: str) -> str:
        return str(data.get(f"{prefix}_{key}", before)).strip()

    null_value, description = one("null", row.null_value), one("description", row.description)
    index = listed(one("index", row.index), ("", *INDEX_LISTS))
    if not is_new:
        return ColumnRow(
            row.name, row.data_type, row.kind, row.format, row.multi_value, null_value, description, index, row.in_key
        )
    kind = listed(one("kind", row.kind), tuple(LISTS))
    return ColumnRow(
        row.name, listed(one("type", row.data_type), TYPES), kind,
        (one("format", row.format) or "TIMESTAMP") if kind == "DATE_TIME" else "", f"{prefix}_multi" in data,
        null_value, description, index,
    )  # fmt: skip


def _field(setting: Setting, value: str) -> forms.Field:
    said: dict[str, Any] = {"label": setting.label, "help_text": setting.help_text, "required": False}
    if setting.choices:
        known = [choice for choice, _ in setting.choices]
        more = () if value in known else ((value, value),)
        return forms.ChoiceField(choices=(*setting.choices, *more), **said)
    if setting.most and (not value or value.isdecimal()):
        return forms.IntegerField(min_value=1, max_value=setting.most, **said)
    return forms.CharField(max_length=500, widget=forms.TextInput(attrs=EXACT), **said)
