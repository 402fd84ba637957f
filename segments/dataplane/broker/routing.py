"""One table's routing: which segments a query sees and which live servers hold them, read from ZooKeeper as ONE
snapshot.

THE CONSISTENCY RULE (rules `one-snapshot-per-query` and `one-side-visible`). A query must see exactly one side of every
replacement, so lineage and ideal state have to belong together. They are two znodes. They are read in this order, and
the first is read again at the end:

    lineage (with its zxid) -> ideal state -> external view -> live instances -> lineage again

If the lineage is the same both times (same zxid, or absent both times), there was a moment during the reads at which
the lineage held and the ideal state read was the current one; if not, everything is read again. That is enough, because
writers keep their order: a replacement's new segments enter the ideal state only after the entry that hides them was
written, and its old ones leave only after brokers acknowledged the entry that hides them. So with a lineage that holds,
every visible segment is in the ideal state and every segment that must not be seen is hidden. The external view is read
after the ideal state: it may lack a row, never know more. What lives is only a hint whom to ask: a server that cannot
answer is found out by asking.

Visible = ``lineage.visible(rows of the ideal state)``. A visible segment that nobody serves makes the query fail by
name, it is never left out silently; the one exception is a segment that is just being loaded for the first time (see
``is_first_load``). One that was consumed, and is or is being committed, is none: its rows were there before it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from segments.dataplane.broker.unreported import Behind, read_behind
from segments.domain.realtime.llc_name import LLCName, is_llc_name, parse_llc_name
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.lineage import Lineage
from segments.domain.segments.ideal_state import CONSUMING, ERROR, OFFLINE, ONLINE, serving
from segments.domain.tables import schema as schemas
from segments.domain.tables import table_config as configs
from segments.domain.tables.keyed_tables import is_keyed
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import Conflict, PinotAdminError
from segments.names import REALTIME, TableName, split_table_name
from segments.store import paths
from segments.store.base import Store, Versioned

_ATTEMPTS: Final = 50

Rows = Mapping[str, Mapping[str, str]]

_NO_STATES: Final[Mapping[str, str]] = {}


@dataclass(frozen=True)
class ServerRef:
    """A live server: its session distinguishes one life from the next, ``url`` is where it answers.
    ``is_drained``: asked only where no other can."""

    instance: str
    session: str
    url: str
    is_drained: bool = False


@dataclass(frozen=True)
class Routing:
    """What queries of one table are answered from; immutable. Two queries with the same routing see the same segments.

    ``lineage_zxid`` and ``ideal_zxid`` are the mzxids of the records it was made of (0: there is none). ``replicas``
    has every segment of the ideal state, hidden ones too, with the servers that serve it. ``first_loads`` are visible
    segments that are left out because no server ever finished loading them. ``growing`` are segments that some replica
    still consumes, ``open`` the newest wanted one of each partition; ``ended`` {growing segment that was committed:
    instances that hold its file}. ``end_time_ms`` is the newest end time of the wanted segments (milliseconds); only of
    an OFFLINE table with a REALTIME sibling, else None.
    """

    table: TableName
    lineage_zxid: int
    ideal_zxid: int
    visible: tuple[str, ...]
    replicas: Mapping[str, tuple[ServerRef, ...]]
    schema: Schema | None = None
    schema_version: int = 0
    config: TableConfig | None = None
    first_loads: frozenset[str] = field(default_factory=frozenset)
    growing: frozenset[str] = field(default_factory=frozenset)
    open: frozenset[str] = field(default_factory=frozenset)
    ended: Mapping[str, frozenset[str]] = field(default_factory=dict)
    end_time_ms: int | None = None

    @property
    def wanted(self) -> list[str]:
        """The segments that a query asks for."""
        return [s for s in self.visible if s not in self.first_loads]

    @property
    def timeout_ms(self) -> int | None:
        """``query.timeoutMs`` of the table, for queries that say nothing else; None: it says nothing."""
        query = self.config.model.query if self.config is not None else None
        return query.timeout_ms if query is not None and (query.timeout_ms or 0) > 0 else None

    def sure(self, segment: str, choice: Sequence[ServerRef]) -> Sequence[ServerRef]:
        """Those of ``choice`` that cannot show rows of the next segment in this one, as a replica does that read past
        the committed end and has not heard of it; all of them when nobody is sure, or the next segment is not read yet.
        """
        if segment in self.open:
            return choice
        held = self.ended.get(segment, frozenset())
        return [s for s in choice if s.instance in held] or choice


@dataclass(frozen=True)
class Observed:
    """The records of one table, lineage proven unchanged while the others were read. ``live``: instances whose node was
    there.
    """

    table: str
    lineage: Lineage
    lineage_zxid: int
    ideal: Rows
    ideal_zxid: int
    view: Rows
    live: frozenset[str]
    config: TableConfig | None
    schema: Schema | None
    schema_version: int

    @cached_property
    def in_lineage(self) -> frozenset[str]:
        """Segments that some entry names."""
        return frozenset(s for e in self.lineage.entries.values() for s in (*e.segments_from, *e.segments_to))


def observe(store: Store, table: str, servers: Collection[str]) -> Observed | None:
    """Read a table by the rule above; None when it has no ideal state. ``servers``: instances whose liveness matters.

    One round trip when nothing interferes: the store sends the reads together and answers them in order. Raises
    Conflict when the lineage changed during every attempt, RecordCorrupt for what cannot be read (a damaged lineage
    must not count as none).
    """
    raw, _ = split_table_name(table)
    names = sorted(servers)
    wanted = [
        paths.lineage(table),
        paths.ideal_state(table),
        paths.external_view(table),
        *(paths.live_instance(name) for name in names),
        paths.table_config(table),
        paths.schema(raw),
        paths.lineage(table),
    ]
    for _ in range(_ATTEMPTS):
        nodes = store.get_many(wanted)
        lineage, ideal, view, *lives, config, schema, again = nodes
        if _zxid(lineage) != _zxid(again):
            continue
        if ideal is None:
            return None
        return Observed(
            table=table,
            lineage=lineages.from_record(lineage.record) if lineage and lineage.record else lineages.empty(table),
            lineage_zxid=_zxid(lineage),
            ideal=_rows(ideal),
            ideal_zxid=ideal.mzxid,
            view=_rows(view),
            live=frozenset(n for n, node in zip(names, lives, strict=True) if node is not None),
            config=_config(config),
            schema=_schema(schema),
            schema_version=_zxid(schema),
        )
    raise Conflict(f"The lineage of {table} changed during each of {_ATTEMPTS} reads.", remedy="It is read again.")


@dataclass(frozen=True)
class Hosting:
    """Where every segment of a table is served: what of a routing does not depend on the lineage.

    ``shown``: segments that are not switched OFF; ``growing`` as in ``Routing``. Made of exactly these ``ideal`` and
    ``view`` rows.
    """

    ideal: Rows
    view: Rows
    live: Mapping[str, ServerRef]
    replicas: Mapping[str, tuple[ServerRef, ...]]
    shown: Sequence[str]
    growing: frozenset[str]


def find_hosting(seen: Observed, servers: Mapping[str, ServerRef], before: Hosting | None = None) -> Hosting:
    """Pure. ``before`` itself when it was made of the very same records: a switch of 50,000 segments changes the
    lineage only.
    """
    live = {name: ref for name, ref in servers.items() if name in seen.live}
    if before is not None and before.ideal is seen.ideal and before.view is seen.view and before.live == live:
        return before
    replicas, shown, growing = {}, [], set()
    known: dict[tuple[int, int], _Place] = {}
    for segment, row in seen.ideal.items():
        states = seen.view.get(segment, _NO_STATES)
        key = id(row), id(states)  # large records share equal rows: a million segments have a few dozen places
        place = known.get(key)
        if place is None:
            place = known[key] = _place(row, states, live)
        replicas[segment] = place.servers
        if place.is_shown:
            shown.append(segment)
        if place.is_growing:
            growing.add(segment)
    return Hosting(seen.ideal, seen.view, live, replicas, shown, frozenset(growing))


@dataclass(frozen=True)
class _Place:
    """What a row of the ideal state and one of the external view make of a segment; see ``Hosting``."""

    servers: tuple[ServerRef, ...]
    is_shown: bool
    is_growing: bool


def _place(row: Mapping[str, str], states: Mapping[str, str], live: Mapping[str, ServerRef]) -> _Place:
    return _Place(
        _preferred([live[i] for i in serving(states) if i in live and i in row]),
        any(state != OFFLINE for state in row.values()) or not row,
        CONSUMING in row.values() or CONSUMING in states.values(),
    )


def build_routing(seen: Observed, hosting: Hosting, first_loads: Collection[str] = ()) -> Routing:
    """The routing of what was observed: pure."""
    raw, kind = split_table_name(seen.table)
    assert kind is not None
    left_out = frozenset(s for s in first_loads if not hosting.replicas.get(s))
    visible = seen.lineage.visible(hosting.shown)
    growing = hosting.growing
    behind = Behind()
    if seen.config is not None and is_keyed(seen.config):
        holders = {s: [ref.instance for ref in refs] for s, refs in hosting.replicas.items()}
        reported = [s for s in visible if s not in left_out]
        behind = read_behind(reported, growing, holders, seen.ideal, seen.view)
    narrowed = {s: tuple(r for r in hosting.replicas[s] if r.instance in sure) for s, sure in behind.readers.items()}
    left_out |= behind.segments
    return Routing(
        table=TableName(raw, kind),
        lineage_zxid=seen.lineage_zxid,
        ideal_zxid=seen.ideal_zxid,
        visible=tuple(visible),
        replicas={**hosting.replicas, **narrowed} if narrowed else hosting.replicas,
        schema=seen.schema,
        schema_version=seen.schema_version,
        config=seen.config,
        first_loads=left_out,
        growing=growing,
        open=_newest(s for s in visible if s not in left_out) if kind == REALTIME else frozenset(),
        ended={s: _holders(seen.view.get(s, {})) for s in growing if CONSUMING not in seen.ideal[s].values()},
    )


def _holders(states: Mapping[str, str]) -> frozenset[str]:
    return frozenset(i for i, state in states.items() if state == ONLINE)


def _preferred(servers: Sequence[ServerRef]) -> tuple[ServerRef, ...]:
    """Without those that are being drained, where others hold the segment too."""
    return tuple(s for s in servers if not s.is_drained) or tuple(servers)


def _newest(segments: Iterable[str]) -> frozenset[str]:
    """The segment with the highest sequence of each partition; segments that came from no stream have none."""
    newest: dict[int, LLCName] = {}
    for name in (parse_llc_name(s) for s in segments if is_llc_name(s)):
        if name.partition not in newest or newest[name.partition].sequence < name.sequence:
            newest[name.partition] = name
    return frozenset(name.text for name in newest.values())


def is_first_load(seen: Observed, segment: str, served_before: Collection[str]) -> bool:
    """Is the segment new and just being loaded, so that no answer ever held it?

    Then it is not part of the table yet, as in Pinot: an upload does not make queries fail for the moment that the load
    takes. Never true for segments of a lineage entry (the switch waits for them, so a missing one is missing), for what
    was served before, and when no live server is on its way to serve it.
    """
    if segment in served_before or segment in seen.in_lineage:
        return False
    states = seen.view.get(segment, {})
    return not serving(states) and any(i in seen.live and states.get(i) != ERROR for i in seen.ideal.get(segment, {}))


def _zxid(node: Versioned | None) -> int:
    return 0 if node is None else node.mzxid


def _rows(node: Versioned | None) -> Rows:
    return node.record.maps if node and node.record else {}


def _config(node: Versioned | None) -> TableConfig | None:
    try:
        return configs.from_record(node.record) if node and node.record else None
    except PinotAdminError:
        return None


def _schema(node: Versioned | None) -> Schema | None:
    try:
        return schemas.from_record(node.record) if node and node.record else None
    except (PinotAdminError, KeyError, json.JSONDecodeError):
        return None


def replicas_of(routing: Routing, segments: Sequence[str]) -> dict[str, tuple[ServerRef, ...]]:
    """The servers of these segments; () for one that nobody serves."""
    return {s: routing.replicas.get(s, ()) for s in segments}
