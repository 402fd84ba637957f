"""What the search shows: pages and actions by their words, and rows with their addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from django.http import HttpRequest
from django.urls import reverse

from segments.console.access import ADMINISTER, OPERATE, READ, may, may_administer_all, may_somewhere
from segments.console.cluster_address import cluster_of
from segments.models import Table
from segments.names import OFFLINE, REALTIME
from segments.services.access import search_rows
from segments.services.core.page_addresses import address_in, address_of, default_cluster


@dataclass(frozen=True)
class Hit:
    """One line: what it is called, what stands next to it, where it leads."""

    text: str
    detail: str
    address: str


@dataclass(frozen=True)
class Group:
    """Hits of one kind."""

    title: str
    hits: Sequence[Hit]


@dataclass(frozen=True)
class TableAction:
    """Something that is done to a table: its words, its page, to which type of table (empty: both), who may."""

    words: str
    page: str
    kind: str = ""
    right: str = OPERATE


#: Words -> page of a cluster.
_PAGES: Final = (
    ("Tables", "tables"), ("Pushes", "pushes"), ("Query", "query"), ("Passes", "passes"),
    ("Inbox findings", "findings"), ("Servers", "servers"), ("Audit", "audit"), ("This cluster", "cluster"),
    ("Deleted tables", "dropped_tables"), ("Minion tasks", "tasks"),
)  # fmt: skip
#: What is done to tables.
ACTIONS: Final = (
    TableAction("Pause consumption", "pause", REALTIME),
    TableAction("Resume consumption", "resume", REALTIME),
    TableAction("Force commit", "commit", REALTIME),
    TableAction("Reingest segments", "reingest", REALTIME),
    TableAction("Replay messages that were set aside", "set_aside", REALTIME),
    TableAction("Trigger file ingestion", "trigger_ingestion", OFFLINE),
    TableAction("Set up file ingestion", "ingestion_setup", OFFLINE, ADMINISTER),
    TableAction("Rebalance", "begin_rebalance"),
    TableAction("Go back to a snapshot", "history"),
    TableAction("Roll back", "lineage"),
    TableAction("Undo a rollback", "lineage"),
    TableAction("Restore deleted segments", "deleted"),
    TableAction("Edit config and schema", "edit_config", "", ADMINISTER),
    TableAction("Show secrets of the config", "reveal_secrets", "", ADMINISTER),
    TableAction("Delete table", "delete_table", "", ADMINISTER),
)
#: Pages of a table, found as actions are: ``history flights``.
TABLE_PAGES: Final = (
    TableAction("History", "history", "", READ),
    TableAction("Segments", "segments", "", READ),
    TableAction("Lineage", "lineage", "", READ),
    TableAction("Consumption", "consumption", REALTIME, READ),
    TableAction("Stream", "stream", REALTIME, READ),
    TableAction("File ingestion", "ingestion", OFFLINE, READ),
    TableAction("Config", "config", "", READ),
    TableAction("Checks", "checks", "", READ),
    TableAction("Audit", "table_audit", "", READ),
)
#: Actions are found by so many characters of a word, and offered for so many tables.
_SHORT: Final = 3
_TABLES: Final = 3


def search(request: HttpRequest, text: str) -> list[Group]:
    """Groups that have hits, actions first. At most fifteen queries, each for a few rows."""
    if not text:
        return [Group("Pages", list(_pages(request, "")))]
    user, cluster = request.user, cluster_of(request)
    found: list[tuple[str, Callable[[], Iterable[Hit]]]] = [
        ("Actions", lambda: _actions(request, text)),
        ("Pages", lambda: chain(_pages(request, text), _table_pages(request, text))),
        ("Tables", lambda: (_at(t.name, t.type, "table", t.name) for t in search_rows.tables(user, cluster, text))),
        ("Pushes", lambda: (
            _at(f"Push to {p.table_name}", f"{p.state}, {p.created_at:%Y-%m-%d %H:%M} UTC", "push", p.pk)
            for p in search_rows.pushes(user, cluster, text)
        )),
        ("Segments", lambda: (
            _at(s.name, s.table.name, "segment", s.table.name, s.name)
            for s in search_rows.segments(user, cluster, text)
        )),
        ("Replacements", lambda: (
            _at(e.entry_id, f"{e.table.name}, {e.state}", "entry", e.table.name, e.entry_id)
            for e in search_rows.entries(user, cluster, text)
        )),
        ("Sessions", lambda: (
            _at(s.session_id, f"{s.table.name}, {s.state}", "ingestion_session", s.table.name, s.session_id)
            for s in search_rows.sessions(user, cluster, text)
        )),
        ("People", lambda: (
            Hit(u.get_username(), "user", address_of(f"/admin/auth/user/{u.pk}/change/"))
            for u in search_rows.people(user, text)
        )),
    ]  # fmt: skip
    groups = [Group(title, list(hits())) for title, hits in found]
    return [group for group in groups if group.hits]


def _at(text: str, detail: str, page: str, *names: Any) -> Hit:
    return Hit(text, detail, reverse(f"console:{page}", args=names))


def _pages(request: HttpRequest, text: str) -> Iterator[Hit]:
    for words, page in _PAGES:
        if _fits(text, words):
            yield _at(words.split(" findings")[0], "page", page)
    home = default_cluster()
    administers = may_administer_all(request)
    more = [("API tokens", "tokens", True), ("Alerts webhooks mail", "alerts", administers)]
    more += [("Clusters", "clusters", True), ("Your settings time zone views", "own_page", True)]
    for words, page, is_there in more:
        if is_there and _fits(text, words):
            yield Hit(words.split(" webhooks")[0].split(" time")[0], "page", address_in(home, f"console:{page}"))
    if _fits(text, "REST API documentation"):
        yield Hit("REST API", "page", address_of("/api/docs/"))
    if getattr(request.user, "is_staff", False) and _fits(text, "Admin"):
        yield Hit("Admin", "page", address_of("/admin/"))


def _actions(request: HttpRequest, text: str) -> Iterator[Hit]:
    """``pause flights``, ``roll back flights`` or ``flights pause``: words of an action, and of a table's name."""
    for words, page, right in (("New push", "new_push", OPERATE), ("New table", "new_table", ADMINISTER)):
        if may_somewhere(request, right) and _fits(text, words):
            yield _at(words, "action", page)
    if may_administer_all(request) and _fits(text, "Add a cluster"):
        yield Hit("Add a cluster", "action", address_in(default_cluster(), "console:new_cluster"))
    if may_somewhere(request) and (name := _named(text, "Run a pass")) is not None:
        yield from _on_tables(request, TableAction("Run a pass", "run_pass"), name)
    for action, name in _named_by(text, ACTIONS):
        yield from _on_tables(request, action, name)


def _table_pages(request: HttpRequest, text: str) -> Iterator[Hit]:
    """``history flights``: only with a name, for which there would be too many otherwise."""
    for page, name in _named_by(text, TABLE_PAGES):
        if name:
            yield from _on_tables(request, page, name, "page")


def _named_by(text: str, actions: Sequence[TableAction]) -> list[tuple[TableAction, str]]:
    """The first of the actions that the text names, each with the rest of the text."""
    return [(action, name) for action in actions if (name := _named(text, action.words)) is not None][:_TABLES]


def _named(text: str, words: str) -> str | None:
    """What is left of the text without the words of the action, with which it begins or ends; None: it has none."""
    given, known = text.split(), words.lower().split()
    fits = [any(word.startswith(part.lower()) for word in known) for part in given]
    begun = fits.index(False) if False in fits else len(fits)
    if begun:
        of_action, rest = given[:begun], given[begun:]
    else:
        end = len(fits) - (fits[::-1].index(False) if False in fits else len(fits))
        of_action, rest = given[end:], given[:end]
    return " ".join(rest) if any(len(part) >= _SHORT for part in of_action) else None


def _on_tables(request: HttpRequest, action: TableAction, name: str, what: str = "action") -> Iterator[Hit]:
    for table in _tables(request, name, action):
        if action.page == "run_pass":
            yield Hit(f"{action.words}: {table.name}", what, f"{reverse('console:run_pass')}?table={table.name}")
        else:
            yield _at(f"{action.words}: {table.name}", what, action.page, table.name)


def _tables(request: HttpRequest, name: str, action: TableAction) -> list[Table]:
    rows = search_rows.tables(request.user, cluster_of(request), name, action.kind)
    return [t for t in rows if may(request, action.right, t.name)][:_TABLES]


def _fits(text: str, words: str) -> bool:
    """Does each word of the text begin one of these?"""
    known = words.lower().split()
    return all(any(w.startswith(part) for w in known) for part in text.lower().split())
