"""A change of a table's settings on its way: the documents as they would be, and what is wrong with them, by field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from segments.console.new_table.document_texts import as_text, names_in, read_object, seen_of
from segments.console.new_table.forms import SHOWN
from segments.console.table_settings.forms import posted_columns
from segments.domain.tables.edits.columns import ColumnRow, column_rows, with_columns
from segments.domain.tables.edits.settings import Setting, edited, setting_at, settings_of, values_of
from segments.errors import InvalidInput
from segments.services.tables.edits.documents import Documents
from segments.services.tables.edits.preview import EditPreview


@dataclass
class Draft:
    """``texts``: what the two text fields hold. ``faults``: {where: what is wrong}; where is ``schema``, ``config``, a
    setting's name, ``cN`` for row N of the grid or "" for all of it.
    """

    before: Documents
    schema: dict[str, Any]
    config: dict[str, Any]
    settings: list[Setting]
    values: dict[str, str]
    rows: list[ColumnRow]
    texts: dict[str, str]
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def seen(self) -> str:
        """What the text fields are known by when they come back: then nobody has edited them."""
        return seen_of(self.texts["schema"], self.texts["config"])

    @property
    def stored(self) -> set[str]:
        """Names of the columns that are there."""
        return {row.name for row in column_rows(self.before.schema, self.before.config)}

    @property
    def more_columns(self) -> int:
        """Columns that the grid does not show."""
        return max(0, len(self.rows) - SHOWN)

    def note(self, found: EditPreview) -> None:
        """Put what a preview refuses next to its fields."""
        for refusal in found.refusals:
            text = f"{refusal.problem} {refusal.remedy}".strip()
            where = self._place(refusal.field, refusal.problem)
            self.faults[where] = f"{self.faults[where]} {text}" if where in self.faults else text
        if self.values.get("retention") and not self.values.get("retention_unit"):
            self.faults["retention_unit"] = "Choose a unit: a number alone has no effect."

    def _place(self, path: str, problem: str) -> str:
        document, _, rest = path.partition(".")
        named = [rest, *names_in(problem)]
        if document == "config":
            setting = next(filter(None, (setting_at(self.settings, one) for one in named)), None)
            return setting.name if setting else "config"
        names = [row.name for row in self.rows[:SHOWN]]
        return next((f"c{names.index(one)}" for one in named if one in names), "schema")


def draft_of(before: Documents, config: dict[str, Any], schema: dict[str, Any]) -> Draft:
    """The draft of these documents."""
    settings = settings_of(config, before.table.type)
    texts = {"schema": as_text(schema), "config": as_text(config)}
    rows = column_rows(schema, config)
    return Draft(before, schema, config, settings, values_of(config, settings), rows, texts)


def posted_draft(before: Documents, data: Mapping[str, str]) -> Draft:
    """As the page's form sends it: from the documents where their text was edited, else from grid and settings."""
    texts = {key: str(data.get(key, "")).replace("\r\n", "\n") for key in ("schema", "config")}
    bodies, faults = {}, {}
    for key, text in texts.items():
        try:
            bodies[key] = read_object(text)
        except InvalidInput as error:
            faults[key] = str(error)
    if faults:
        draft = draft_of(before, before.config, before.schema)
        draft.texts, draft.faults = texts, faults
        return draft
    schema, config = bodies["schema"], bodies["config"]
    if str(data.get("seen", "")) != seen_of(texts["schema"], texts["config"]):
        return draft_of(before, config, schema)
    plain = draft_of(before, config, schema)
    rows = posted_columns(data, plain.rows, plain.stored)
    gone = [row.name for row in plain.rows if row.name not in {r.name for r in rows}]
    schema, config = with_columns(schema, config, rows, gone)
    values = {s.name: str(data.get(s.name, plain.values[s.name])) for s in plain.settings}
    return draft_of(before, edited(config, plain.settings, values), schema)
