"""Partial upsert: a row is completed with its key's row before it, column by column.

Null means that a row says nothing of a column: the value before stays. Late rows and rows that delete their key are
taken as they are, and a key begins again behind a deletion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from segments.dataplane.primary_keys.arrivals import Arrivals
from segments.dataplane.primary_keys.key_hash_table import NOWHERE
from segments.dataplane.primary_keys.runs import Flags, Ints, by_key, numbered, running_max, running_sum, starts_of
from segments.dataplane.primary_keys.valid_rows import PartitionKeys
from segments.dataplane.query.nulls import PREFIX
from segments.dataplane.query.scan import default_values, stored_type
from segments.domain.tables.keyed_tables import KeyRules
from segments.domain.tables.schema import FieldSpec, Schema
from segments.segmentfile.columns.transform import Mask


@dataclass(frozen=True)
class _Chains:
    """Rows before the batch, then those of the batch: ``at`` are their positions, those of one chain together and in
    order; ``chains`` numbers each one's chain. ``kept`` of them are of the batch.
    """

    before: pa.Table
    before_nulls: Mapping[str, Flags]
    at: Ints
    chains: Ints


def completed(arrivals: Arrivals, late: Flags, partition: PartitionKeys, rules: KeyRules, schema: Schema) -> Arrivals:
    """The batch with every row completed."""
    fixed = {*rules.columns, *rules.compared}
    specs = [schema.by_name[n] for n in arrivals.rows.column_names if n not in fixed]
    chains = _chains(arrivals, late, partition, specs)
    rows, masks = arrivals.rows, dict(arrivals.masks)
    for spec in specs:
        strategy = rules.strategies.get(spec.name, rules.default_strategy)
        if strategy == "FORCE_OVERWRITE":
            continue
        values, nulls = _merged(spec, strategy, rows.column(spec.name), masks.get(spec.name), chains)
        rows = rows.set_column(rows.schema.get_field_index(spec.name), rows.schema.field(spec.name), values)
        masks[spec.name] = nulls
    return Arrivals(rows, {name: mask for name, mask in masks.items() if mask.any()}, arrivals.keys)


def _chains(arrivals: Arrivals, late: Flags, partition: PartitionKeys, specs: list[FieldSpec]) -> _Chains:
    """A chain is what rows of one key are completed with: the row that counts now, unless it deletes, then the rows of
    the batch that are in order, up to one that deletes.
    """
    keys, deletes = arrivals.keys.keys, arrivals.keys.deletes
    order, groups = by_key(keys)
    in_order = ~late[order]
    order, groups = order[in_order], groups[in_order]
    firsts = order[starts_of(groups)] if len(order) else order
    places = partition.table.find(keys.take(firsts))
    is_there = places != NOWHERE
    is_there[is_there] = partition.are_visible(places[is_there])
    before, nulls = _rows_at(partition, places[is_there], specs)
    count = before.num_rows
    with_before = np.unique(groups)[is_there] if len(groups) else groups
    positions = np.concatenate([np.arange(count), order + count])
    group = np.concatenate([with_before, groups])
    turn = np.concatenate([np.full(count, -1), np.arange(len(order))])
    arranged = np.lexsort((turn, group))
    positions, group = positions[arranged], group[arranged]
    is_deletion = np.zeros(len(positions), np.bool_)
    is_deletion[positions >= count] = deletes[positions[positions >= count] - count]
    starts = starts_of(group) | is_deletion
    starts[1:] |= is_deletion[:-1]
    return _Chains(before, nulls, positions, numbered(starts))


def _rows_at(partition: PartitionKeys, places: Ints, specs: list[FieldSpec]) -> tuple[pa.Table, dict[str, Flags]]:
    """The rows at these places, in this order, and which of their values are null."""
    holders, docs = partition.table.holders[places], partition.table.docs[places]
    order = np.argsort(holders, kind="stable")
    names = [s.name for s in specs] + [PREFIX + s.name for s in specs]
    pieces = []
    for number in np.unique(holders):
        wanted = docs[holders == number]
        held = partition.holder_at(int(number)).read(names)
        pieces.append({name: _taken(held, name, specs, wanted) for name in names})
    back = np.empty(len(places), np.int64)
    back[order] = np.arange(len(places))
    columns = {
        s.name: pa.concat_arrays([p[s.name] for p in pieces]).take(pa.array(back))
        if pieces
        else pa.array([], stored_type(s))
        for s in specs
    }
    nulls = {
        s.name: np.concatenate([p[PREFIX + s.name] for p in pieces])[back] if pieces else np.zeros(0, np.bool_)
        for s in specs
    }
    return pa.table(columns), nulls


def _taken(held: pa.Table, name: str, specs: list[FieldSpec], docs: Any) -> Any:
    """Some rows of a column in its stored type; of ``$isNull.<column>`` which of them are null."""
    spec = next(s for s in specs if s.name == name.removeprefix(PREFIX))
    if name.startswith(PREFIX):
        if name not in held.column_names:
            return np.full(len(docs), spec.name not in held.column_names)
        return held.column(name).take(pa.array(docs)).to_numpy().astype(np.bool_)
    if name not in held.column_names:
        return default_values(spec, stored_type(spec), len(docs))
    found: Any = held.column(name).take(pa.array(docs)).combine_chunks()
    found = found.cast(stored_type(spec)) if found.type != stored_type(spec) else found
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _merged(spec: FieldSpec, strategy: str, column: Any, mask: Mask | None, chains: _Chains) -> tuple[Any, Mask]:
    """One column of the batch, and which of its values are null."""
    own = column.combine_chunks()
    values = pa.concat_arrays([chains.before.column(spec.name).combine_chunks(), own])
    before = len(values) - len(own)
    nulls = np.concatenate([chains.before_nulls[spec.name], np.zeros(len(own), np.bool_) if mask is None else mask])
    found = np.arange(len(values))
    if strategy in _CHOICES:
        found[chains.at] = chains.at[_CHOICES[strategy](values, nulls, chains)]
        return values.take(pa.array(found[before:])), nulls[found][before:]
    said = running_max((~nulls[chains.at]).astype(np.int64) - 1, chains.chains) >= 0
    results, is_null = _computed(strategy, values, nulls, chains), nulls.copy()
    is_null[chains.at] = ~said
    return results.slice(before), is_null[before:]


def _last_said(_values: Any, nulls: Flags, chains: _Chains) -> Ints:
    """OVERWRITE: of each row the last one up to it that says something, else the row itself."""
    here = np.arange(len(chains.at))
    found = running_max(np.where(nulls[chains.at], -1, here), chains.chains)
    return np.where(found < 0, here, found)


def _first_said(_values: Any, nulls: Flags, chains: _Chains) -> Ints:
    """IGNORE: of each row the first one up to it that says something, else the row itself."""
    here = np.arange(len(chains.at))
    found = running_max(np.where(nulls[chains.at], -1, len(here) - here), chains.chains)
    return np.where(found < 0, here, len(here) - found)


def _greatest(values: Any, nulls: Flags, chains: _Chains, *, is_least: bool = False) -> Ints:
    """MAX and MIN: of each row the first one up to it with the extreme value, else the row itself."""
    here = np.arange(len(chains.at))
    ranks = _ranks(values)[chains.at]
    ranks = ranks.max(initial=0) - ranks if is_least else ranks
    spread = ranks * (len(here) + 1) + len(here) - here
    _, dense = np.unique(spread, return_inverse=True)
    best = running_max(np.where(nulls[chains.at], -1, dense), chains.chains)
    row_of = np.empty(len(here), np.int64)
    row_of[dense] = here
    return np.where(best < 0, here, row_of[best])


_CHOICES: Final[dict[str, Callable[[Any, Flags, _Chains], Ints]]] = {
    "OVERWRITE": _last_said,
    "IGNORE": _first_said,
    "MAX": _greatest,
    "MIN": lambda values, nulls, chains: _greatest(values, nulls, chains, is_least=True),
}


def _ranks(values: Any) -> Ints:
    found: Ints = pc.rank(values, tiebreaker="dense").to_numpy().astype(np.int64)
    return found


def _computed(strategy: str, values: Any, nulls: Flags, chains: _Chains) -> Any:
    """INCREMENT, APPEND, UNION: values made of several."""
    if strategy == "INCREMENT":
        numbers = values.to_numpy().copy()
        parts = np.where(nulls, 0, numbers).astype(numbers.dtype)[chains.at]
        said = running_max((~nulls[chains.at]).astype(np.int64) - 1, chains.chains) >= 0
        numbers[chains.at] = np.where(said, running_sum(parts, chains.chains), numbers[chains.at])
        return pa.array(numbers, values.type)
    lists, merged = values.to_pylist(), values.to_pylist()
    last: list[Any] | None = None
    chain = -1
    for position, number in zip(chains.at.tolist(), chains.chains.tolist(), strict=True):
        last, chain = (last if number == chain else None), number
        if not nulls[position]:
            last = lists[position] if last is None else _joined(strategy, last, lists[position])
        if last is not None:
            merged[position] = last
    return pa.array(merged, values.type)


def _joined(strategy: str, before: list[Any], after: list[Any]) -> list[Any]:
    return before + after if strategy == "APPEND" else sorted({*before, *after})
