"""The keys of a partition against a model in plain Python: segments grow, are sealed, replaced, cut and removed."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from segments.dataplane.primary_keys.key_hash_table import NOWHERE, KeyTable
from segments.dataplane.primary_keys.key_hashes import hash_rows
from segments.dataplane.primary_keys.key_rows import KeyReader, sortable
from segments.dataplane.primary_keys.table_keys import TableKeys
from segments.dataplane.primary_keys.valid_rows import PartitionKeys
from segments.domain.tables.keyed_tables import KeyRules
from segments.domain.tables.schema import parse_schema

SCHEMA = parse_schema({
    "schemaName": "k", "primaryKeyColumns": ["id", "part"],
    "dimensionFieldSpecs": [
        {"name": "id", "dataType": "STRING"}, {"name": "part", "dataType": "INT"},
        {"name": "gone", "dataType": "BOOLEAN"}, {"name": "version", "dataType": "LONG"},
        {"name": "text", "dataType": "STRING"}, {"name": "amount", "dataType": "BIG_DECIMAL"},
        {"name": "raw", "dataType": "BYTES"},
    ],
})  # fmt: skip
RULES = KeyRules("FULL", ("id", "part"), "version", delete_column="gone")
#: What version 0, 1, 2... is in columns of other types: the order is theirs, and 24 bytes do not decide it.
LONG = "2026-11-23T05:53:35.123Z"
VERSIONS: dict[str, list[Any]] = {
    "text": ["", LONG, LONG + "\0", LONG + "a", LONG + "a\U0001f600", LONG + "a\uffee"],
    "amount": ["-" + "7" * 40, "-1E+3", "0", "7" * 39, "7" * 40, "7" * 40 + ".5"],
    "raw": [b"", b"\0", b"\0\0", b"\1", b"\xff" * 24, b"\xff" * 24 + b"\0"],
}

#: ``KEY_EXAMPLES=5000`` tries that many walks.
EXAMPLES = int(os.environ.get("KEY_EXAMPLES", "60"))

Row = tuple[str, int, int, int]
ROWS = st.lists(
    st.tuples(st.sampled_from("abcde"), st.integers(0, 1), st.integers(0, 5), st.sampled_from([0, 0, 0, 1])),
    max_size=12,
)


@dataclass
class Segment:
    """What one segment has, as the model knows it."""

    order: int
    born: int
    rows: list[Row] = field(default_factory=list)

    def table(self, columns: Any) -> pa.Table:
        return pa.table({c: self.column(c) for c in columns})

    def column(self, name: str) -> Any:
        kinds = {"id": pa.string(), "part": pa.int32(), "version": pa.int64(), "gone": pa.int32(), "raw": pa.binary()}
        if name in VERSIONS:
            values = [VERSIONS[name][version] for _, _, version, _ in self.rows]
            return pa.array(values, kinds.get(name, pa.string())).dictionary_encode()
        at = ("id", "part", "version", "gone").index(name)
        return pa.array([row[at] for row in self.rows], kinds[name])


def visible(segments: dict[str, Segment]) -> set[tuple[str, int]]:
    """(segment, row) of everything that a query should see: the model."""
    best: dict[tuple[str, int], tuple[Any, ...]] = {}
    for name, segment in segments.items():
        for doc, (key, part, version, gone) in enumerate(segment.rows):
            rank = (version, segment.order, segment.born, doc, name, gone)
            best[key, part] = max(best.get((key, part), rank), rank)
    return {(name, doc) for *_, doc, name, gone in best.values() if not gone}


def first(segments: dict[str, Segment]) -> set[tuple[str, int]]:
    """The same of dedup."""
    best: dict[tuple[str, int], tuple[Any, ...]] = {}
    for name, segment in segments.items():
        for doc, (key, part, *_) in enumerate(segment.rows):
            rank = (segment.order, segment.born, doc, name)
            best[key, part] = min(best.get((key, part), rank), rank)
    return {(name, doc) for _, _, doc, name in best.values()}


class Keys(RuleBasedStateMachine):
    """Every step is done to both; after every one both show the same rows."""

    names = Bundle("names")
    key_rules = RULES
    model_of = staticmethod(visible)

    def __init__(self) -> None:
        super().__init__()
        self.reader = KeyReader(self.key_rules, SCHEMA)
        self.keys = PartitionKeys(self.reader, first_counts=self.key_rules.first_counts)
        self.model: dict[str, Segment] = {}
        self.left: dict[str, Segment] = {}
        self.births = 0

    def born(self, order: int, rows: list[Row]) -> Segment:
        self.births += 1
        return Segment(order, self.births, rows)

    def read(self, rows: list[Row]) -> Any:
        return self.reader.read(Segment(0, 0, rows).table(self.reader.columns), len(rows))

    @rule(target=names, order=st.integers(0, 4))
    def begin(self, order: int) -> str:
        name = f"s{order}"
        self.left.pop(name, None)
        self.model[name] = segment = self.born(order, [])
        self.keys.begin(name, order, segment.table)
        return name

    @rule(name=names, rows=ROWS)
    def append(self, name: str, rows: list[Row]) -> None:
        if name in self.model:
            self.model[name].rows.extend(rows)
            self.keys.append(self.keys.segments[name], self.read(rows))

    @rule(name=names, rows=ROWS)
    def replace(self, name: str, rows: list[Row]) -> None:
        order = int(name[1:])
        self.left.pop(name, None)
        self.model[name] = segment = self.born(order, rows)
        self.keys.replace(name, order, segment.table, self.read(rows))

    @rule(name=names)
    def seal(self, name: str) -> None:
        if name in self.model:
            copy = Segment(0, 0, list(self.model[name].rows))
            self.keys.seal(name, copy.table)
            self.model[name].rows = copy.rows

    @rule(name=names, rows=st.integers(0, 12))
    def cut(self, name: str, rows: int) -> None:
        if name in self.model:
            self.keys.cut(name, rows)
            del self.model[name].rows[rows:]

    @rule(name=names, is_read=st.booleans())
    def remove(self, name: str, is_read: bool) -> None:
        if name in self.model:
            segment = self.model.pop(name)
            self.keys.remove(name, is_still_read=is_read)
            if is_read:
                self.left[name] = segment

    def shown(self, segments: dict[str, Segment]) -> set[tuple[str, int]]:
        masks = self.keys.masks({name: len(segment.rows) for name, segment in segments.items()})
        return {
            (name, int(doc))
            for name, mask in masks.items()
            for doc in (range(len(segments[name].rows)) if mask is None else np.flatnonzero(mask.flags))
        }

    @invariant()
    def the_same_rows_are_visible(self) -> None:
        assert self.shown(self.model) == self.model_of(self.model)

    @invariant()
    def queries_under_way_see_dropped_segments_as_if_they_were_there(self) -> None:
        both = {**self.model, **self.left}
        assert self.shown(both) == self.model_of(both)


class FirstKeys(Keys):
    """The same of dedup: rows of a key that came in twice, because the segment of the first was lost for a while."""

    key_rules = KeyRules("DEDUP", ("id", "part"), None)
    model_of = staticmethod(first)


class TextKeys(Keys):
    """The same, compared by texts of which the first 24 bytes are the same."""

    key_rules = KeyRules("FULL", ("id", "part"), "text", delete_column="gone")


class DecimalKeys(Keys):
    """The same, compared by decimals of up to 41 digits."""

    key_rules = KeyRules("FULL", ("id", "part"), "amount", delete_column="gone")


class ByteKeys(Keys):
    """The same, compared by bytes, zeros among them."""

    key_rules = KeyRules("FULL", ("id", "part"), "raw", delete_column="gone")


for kind in (TextKeys, DecimalKeys, ByteKeys):
    kind.TestCase.settings = settings(max_examples=max(1, EXAMPLES // 3), stateful_step_count=20, deadline=None)
TestTextKeys, TestDecimalKeys, TestByteKeys = TextKeys.TestCase, DecimalKeys.TestCase, ByteKeys.TestCase
TestFirstKeys = FirstKeys.TestCase
TestFirstKeys.settings = settings(max_examples=EXAMPLES, stateful_step_count=20, deadline=None)
TestKeys = Keys.TestCase
TestKeys.settings = settings(max_examples=EXAMPLES, stateful_step_count=20, deadline=None)


def test_a_table_of_keys_finds_all_that_was_put_and_nothing_that_was_dropped() -> None:
    numbers = np.arange(50_000)
    keys = hash_rows([pa.array(numbers)], len(numbers))
    table = KeyTable()
    for start in range(0, len(numbers), 777):
        places = table.put(keys.take(slice(start, start + 777)))
        table.holders[places], table.docs[places] = 1, numbers[start : start + 777]
    assert (table.docs[table.find(keys)] == numbers).all()
    table.drop(table.find(keys.take(slice(0, 40_000))))
    table.shrink()
    assert table.keys == 10_000
    assert (table.find(keys.take(slice(0, 40_000))) == NOWHERE).all()
    assert (table.docs[table.find(keys.take(slice(40_000, None)))] == numbers[40_000:]).all()


@pytest.mark.parametrize("names", [("version",), ("version", "part"), ("version", "part", "gone"), ("text",)])
def test_a_key_takes_at_most_150_bytes_at_any_size(names: tuple[str, ...]) -> None:
    reader = KeyReader(KeyRules("FULL", ("version",), names[0], others=names[1:]), SCHEMA)
    keys = PartitionKeys(reader)
    holder = keys.begin("s", 0, lambda _: pa.table({}))
    for start in range(0, 60_000, 3_000):
        numbers = pa.table({"version": pa.array(np.arange(start, start + 3_000))})
        keys.append(holder, reader.read(numbers, 3_000))
        assert keys.table.keys == start + 3_000
        keys.masks({"s": start + 3_000})
        assert keys.nbytes <= 150 * keys.table.keys


def test_keys_of_any_type_and_length_are_distinguished_however_they_are_stored() -> None:
    texts = ["", "a", "b", "ab", "a" * 7, "a" * 8, "a" * 9, "a" * 16, "a" * 17, "\0", "\0\0", "é" * 40]
    plain = hash_rows([pa.array(texts)], len(texts))
    coded = hash_rows([pa.chunked_array([pa.array(texts).dictionary_encode()])], len(texts))
    assert (plain.low == coded.low).all()
    assert (plain.high == coded.high).all()
    assert len(set(plain.low.tolist())) == len(set(plain.high.tolist())) == len(texts)
    pairs = hash_rows([pa.array(["a", "ab", "", "abc"]), pa.array(["bc", "c", "abc", ""])], 4)
    assert len(set(pairs.low.tolist())) == 4


def test_numbers_sort_as_they_did() -> None:
    numbers = [float("-inf"), -1.5, -1.0, -0.0, 1e-9, 2.0, float("inf")]
    assert list(np.argsort(sortable(pa.array(numbers)), kind="stable")) == list(range(len(numbers)))
    assert sortable(pa.chunked_array([pa.array([3, -4], pa.int32())])).tolist() == [3, -4]


@given(segments=st.lists(ROWS, min_size=1, max_size=4), shown=st.sets(st.integers(0, 3)))
@pytest.mark.parametrize(("rules", "model_of"), [(RULES, visible), (FirstKeys.key_rules, first)])
def test_of_some_segments_alone_the_rows_count_that_the_model_says(
    rules: KeyRules, model_of: Any, segments: list[list[Row]], shown: set[int]
) -> None:
    keys = TableKeys(rules, SCHEMA)
    wanted: dict[str, Segment] = {}
    found: list[Any] = []
    for order, rows in enumerate(segments):
        segment, name = Segment(order, order, rows), f"k__0__{order}__20260801T1000Z"
        part = SimpleNamespace(name=name, num_docs=len(rows), table_of=segment.table)
        with keys.lock:
            keys.put(part, keys.keys_of(part))
        if order in shown:
            wanted[name] = segment
            found.append(part)
    masks = keys.masks_alone(found[::-1])
    visible_now = {(name, int(doc)) for name, mask in masks.items() if mask for doc in np.flatnonzero(mask.flags)}
    assert visible_now == model_of(wanted)
