"""Late, repeated and partial rows against a model in plain Python that takes one row after the other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.dataplane.primary_keys.consuming_rows import KeyedRows
from segments.dataplane.primary_keys.table_keys import TableKeys
from segments.dataplane.query.nulls import PREFIX
from segments.dataplane.query.scan import default_values, stored_type
from segments.dataplane.realtime.mutable_segment import MutableSegment
from segments.domain.tables.keyed_tables import KeyRules
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config

NUMBERS = {"over": "LONG", "force": "LONG", "keep": "LONG", "least": "INT", "most": "DOUBLE", "plus": "LONG"}
SCHEMA = parse_schema({
    "schemaName": "k", "primaryKeyColumns": ["id"], "enableColumnBasedNullHandling": True,
    "dimensionFieldSpecs": [
        {"name": "id", "dataType": "STRING"}, {"name": "v", "dataType": "LONG"}, {"name": "w", "dataType": "DOUBLE"},
        {"name": "gone", "dataType": "BOOLEAN"}, {"name": "late", "dataType": "BOOLEAN"},
        *({"name": n, "dataType": kind} for n, kind in NUMBERS.items()), {"name": "plusd", "dataType": "DOUBLE"},
        {"name": "text", "dataType": "STRING"}, {"name": "label", "dataType": "STRING"},
        {"name": "amount", "dataType": "BIG_DECIMAL"},
        {"name": "app", "dataType": "STRING", "singleValueField": False},
        {"name": "uni", "dataType": "INT", "singleValueField": False},
    ],
})  # fmt: skip
CONFIG = parse_table_config({"tableName": "k", "tableType": "REALTIME"})
STRATEGIES = {
    "over": "OVERWRITE", "force": "FORCE_OVERWRITE", "keep": "IGNORE", "least": "MIN", "most": "MAX",
    "plus": "INCREMENT", "plusd": "INCREMENT", "text": "MAX", "app": "APPEND", "uni": "UNION",
}  # fmt: skip
MERGED = {**STRATEGIES, "gone": "OVERWRITE"}

#: ``KEY_EXAMPLES=5000`` tries that many streams.
EXAMPLES = int(os.environ.get("KEY_EXAMPLES", "40"))

Row = dict[str, Any]
small = st.one_of(st.none(), st.integers(-3, 3))
VALUES = st.fixed_dictionaries({
    "id": st.sampled_from("ab"), "v": st.integers(0, 6), "w": st.none(), "gone": st.sampled_from([None, 0, 0, 0, 1]),
    **dict.fromkeys(["over", "force", "keep", "least", "plus"], small),
    **dict.fromkeys(["most", "plusd"], st.one_of(st.none(), st.sampled_from([-0.3, 0.1, 0.2, 1e9]))),
    "text": st.one_of(st.none(), st.sampled_from(["x", "xy", "é"])),
    "app": st.one_of(st.none(), st.lists(st.sampled_from("pq"), min_size=1, max_size=2)),
    "uni": st.one_of(st.none(), st.lists(st.integers(0, 2), min_size=1, max_size=2)),
}).map(lambda row: {**row, "label": f"{'version':30}{row['v']}", "amount": f"{row['v'] - 3}0.5"})  # fmt: skip
#: Batches of rows; behind some of them the segment ends and another begins.
BATCHES = st.lists(st.tuples(st.lists(VALUES, max_size=8), st.booleans()), max_size=6)


def stored(rows: Sequence[Row]) -> tuple[pa.Table, dict[str, Any]]:
    """Columns and null masks as a decoder makes them."""
    columns, masks = {}, {}
    for spec in SCHEMA.fields:
        given = [row.get(spec.name) for row in rows]
        default = default_values(spec, stored_type(spec), 1)[0].as_py()
        columns[spec.name] = pa.array([default if value is None else value for value in given], stored_type(spec))
        masks[spec.name] = np.array([value is None for value in given], bool)
    return pa.table(columns), {name: mask for name, mask in masks.items() if mask.any()}


def taken_in(rules: KeyRules, batches: Sequence[tuple[list[Row], bool]]) -> list[list[Row]]:
    """What the segments hold, nulls as None."""
    keys, segments = TableKeys(rules, SCHEMA), []
    is_new = True
    for rows, ends in batches:
        if is_new:
            segments.append(MutableSegment(f"k__0__{len(segments)}__20260801T1000Z", SCHEMA, CONFIG))
            into = KeyedRows(keys, segments[-1].name, segments[-1])
        table, masks = stored(rows)
        into.append(table, masks)
        is_new = ends
    return [held(segment) for segment in segments]


def held(segment: MutableSegment) -> list[Row]:
    names = [f.name for f in SCHEMA.fields]
    table = segment.snapshot().table_of([*names, *(PREFIX + n for n in names)])
    return [
        {n: None if row.get(PREFIX + n) else row[n] for n in names} for row in table.to_pylist()
    ]  # fmt: skip


def merged(strategy: str, before: Any, after: Any) -> Any:
    """Two values of one column: the model."""
    if strategy == "FORCE_OVERWRITE" or before is None:
        return after
    if after is None:
        return before
    return {
        "OVERWRITE": lambda: after, "IGNORE": lambda: before, "MIN": lambda: min(before, after),
        "MAX": lambda: max(before, after), "INCREMENT": lambda: before + after, "APPEND": lambda: before + after,
        "UNION": lambda: sorted({*before, *after}),
    }[strategy]()  # fmt: skip


def one_by_one(rules: KeyRules, batches: Sequence[tuple[list[Row], bool]]) -> list[list[Row]]:
    """The same, row by row: the model."""
    latest: dict[str, Row] = {}
    segments: list[list[Row]] = []
    is_new = True
    for rows, ends in batches:
        if is_new:
            segments.append([])
        for given_row in rows:
            row = {"late": None, **given_row}
            before = latest.get(row["id"])
            is_late = before is not None and row["v"] < before["v"]
            if rules.mode == "PARTIAL" and before and not (is_late or row["gone"] or before["gone"]):
                row |= {n: merged(s, before[n], row[n]) for n, s in MERGED.items()}
            if rules.out_of_order_column:
                row["late"] = int(is_late)
            if not is_late:
                latest[row["id"]] = row
            if not (is_late and rules.drops_out_of_order):
                segments[-1].append(row)
        is_new = ends
    return segments


@settings(max_examples=EXAMPLES, deadline=None)
@given(batches=BATCHES, marks=st.booleans(), drops=st.booleans())
def test_partial_rows_are_completed_with_the_rows_before_them(
    batches: list[tuple[list[Row], bool]], marks: bool, drops: bool
) -> None:
    rules = KeyRules(
        "PARTIAL", ("id",), "v", delete_column="gone", out_of_order_column="late" if marks and not drops else None,
        drops_out_of_order=drops, strategies=STRATEGIES,
    )  # fmt: skip
    assert taken_in(rules, batches) == one_by_one(rules, batches)


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(batches=BATCHES, drops=st.booleans(), compared=st.sampled_from(["v", "label", "amount"]))
def test_late_rows_are_dropped_or_marked(batches: list[tuple[list[Row], bool]], drops: bool, compared: str) -> None:
    rules = KeyRules(
        "FULL", ("id",), compared, delete_column="gone", drops_out_of_order=drops,
        out_of_order_column=None if drops else "late",
    )  # fmt: skip
    assert taken_in(rules, batches) == one_by_one(rules, batches)


@settings(max_examples=EXAMPLES // 2, deadline=None)
@given(batches=BATCHES, ttl=st.sampled_from([0, 0, 1, 2.5]))
def test_of_repeated_rows_the_first_is_kept(batches: list[tuple[list[Row], bool]], ttl: float) -> None:
    rules = KeyRules("DEDUP", ("id",), "v" if ttl else None, ttl=ttl)
    seen: dict[str, int] = {}
    newest, wanted, is_new = -1, [], True
    for rows, ends in batches:
        if is_new:
            wanted.append([])
        for row in rows:
            newest = max(newest, row["v"])
            known = seen.get(row["id"])
            if known is None or (ttl and known < newest - ttl):
                seen[row["id"]] = row["v"]
                wanted[-1].append({"late": None, **row})
        is_new = ends
    assert taken_in(rules, batches) == wanted


#: Rows that say something in one comparison column, mostly.
SEVERAL = st.lists(
    st.tuples(
        st.lists(
            st.builds(
                lambda row, said: {**row, **said},
                VALUES,
                st.sampled_from([{"v": n, "w": None} for n in range(4)] + [{"v": None, "w": n / 2} for n in range(4)])
                | st.fixed_dictionaries({"v": small, "w": st.sampled_from([None, -1.5, 2.0])}),
            ),
            max_size=8,
        ),
        st.booleans(),
    ),
    max_size=6,
)


def one_by_one_of_several(rules: KeyRules, batches: Sequence[tuple[list[Row], bool]]) -> list[list[Row]]:
    """What segments hold, row by row, with the row that counts for each key marked by ``counts``: the model."""
    latest: dict[str, Row] = {}
    segments: list[list[Row]] = []
    is_new = True
    for rows, ends in batches:
        if is_new:
            segments.append([])
        for given_row in rows:
            row = {"late": None, **given_row, "counts": True}
            before = latest.get(row["id"])
            filled = [row[n] if row[n] is not None or before is None else before[n] for n in ("v", "w")]
            old = [before[n] for n in ("v", "w")] if before else [None, None]
            says = [row["v"], row["w"]] != [None, None] or old == [None, None]
            is_late = not says or _lowest_first(filled) < _lowest_first(old)
            if not is_late:
                row |= dict(zip(("v", "w"), filled, strict=True))
                if rules.mode == "PARTIAL" and before and not (row["gone"] or before["gone"]):
                    row |= {n: merged(s, before[n], row[n]) for n, s in MERGED.items()}
                if before:
                    before["counts"] = False
                latest[row["id"]] = row
            row["counts"] = not is_late
            row["late"] = int(is_late)
            segments[-1].append(row)
        is_new = ends
    for row in latest.values():
        row["counts"] = not row["gone"]
    return segments


def _lowest_first(values: Sequence[Any]) -> list[tuple[bool, float]]:
    """Nothing is less than any number."""
    return [(value is not None, value or 0) for value in values]


@settings(max_examples=EXAMPLES, deadline=None)
@given(batches=SEVERAL, mode=st.sampled_from(["FULL", "PARTIAL"]), seed=st.randoms(use_true_random=False))
def test_of_several_comparison_columns_the_one_in_which_a_row_says_something_decides_also_after_a_restart(
    batches: list[tuple[list[Row], bool]], mode: Any, seed: Any
) -> None:
    rules = KeyRules(
        mode, ("id",), "v", others=("w",), delete_column="gone", out_of_order_column="late", strategies=STRATEGIES
    )
    keys, segments = TableKeys(rules, SCHEMA), []
    is_new = True
    for rows, ends in batches:
        if is_new:
            segments.append(MutableSegment(f"k__0__{len(segments)}__20260801T1000Z", SCHEMA, CONFIG))
            into = KeyedRows(keys, segments[-1].name, segments[-1])
        into.append(*stored(rows))
        is_new = ends
    expected = one_by_one_of_several(rules, batches)
    wanted = [[{n: v for n, v in row.items() if n != "counts"} for row in rows] for rows in expected]
    assert [held(segment) for segment in segments] == wanted
    counting = [[row["counts"] for row in rows] for rows in expected]
    assert shown(keys, segments) == counting
    again = TableKeys(rules, SCHEMA)
    for segment in seed.sample(segments, len(segments)):
        rows_now = segment.snapshot()
        again.put(rows_now, again.keys_of(rows_now))
    assert shown(again, segments) == counting


def shown(keys: TableKeys, segments: Sequence[MutableSegment]) -> list[list[bool]]:
    """Which rows of each segment queries see."""
    masks = keys.masks([segment.snapshot() for segment in segments])
    found = [(masks[segment.name], segment.rows) for segment in segments]
    return [[True] * rows if mask is None else mask.flags.tolist() for mask, rows in found]
