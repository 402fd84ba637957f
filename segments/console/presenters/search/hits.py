"""What the search shows: pages and actions by their words, and rows with their addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest
from django.urls import reverse

from segments.console.access import ADMINISTER, OPERATE, may, may_administer_all, may_somewhere
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
)  # fmt: skip
_ACTIONS: Final = (
    TableAction("Pause consumption", "pause", REALTIME),
    TableAction("Resume consumption", "resume", REALTIME),
    TableAction("Force commit", "commit", REALTIME),
    TableAction("Trigger file ingestion", "trigger_ingestion", OFFLINE),
    TableAction("Rebalance", "begin_rebalance"),
    TableAction("Roll back", "lineage"),
    TableAction("Restore deleted segments", "deleted"),
    TableAction("Show secrets of the config", "reveal_secrets", "", ADMINISTER),
)
#: Actions are found by so many characters of a word, and offered for so many tables.
_SHORT: Final = 3
_TABLES: Final = 3


def search(request: HttpRequest, text: str) -> list[Group]:
    """Groups that have hits, actions first. At most a dozen queries, each for a few rows."""
    if not text:
        return [Group("Pages", list(_pages(request, "")))]
    user, cluster = request.user, cluster_of(request)
    found: list[tuple[str, Callable[[], Iterator[Hit]]]] = [
        ("Actions", lambda: _actions(request, text)),
        ("Pages", lambda: _pages(request, text)),
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
    more = [("API tokens", "tokens", True), ("Alerts webhooks mail", "alerts", may_administer_all(request))]
    for words, page, is_there in [*more, ("Clusters", "clusters", True)]:
        if is_there and _fits(text, words):
            yield Hit(words.split(" webhooks")[0], "page", address_in(home, f"console:{page}"))
    if _fits(text, "REST API documentation"):
        yield Hit("REST API", "page", address_of("/api/docs/"))
    if getattr(request.user, "is_staff", False) and _fits(text, "Admin"):
        yield Hit("Admin", "page", address_of("/admin/"))


def _actions(request: HttpRequest, text: str) -> Iterator[Hit]:
    """``pause flights``: the first word is of an action, what follows names tables."""
    first, _, name = text.partition(" ")
    if may_somewhere(request) and _fits(text, "New push"):
        yield _at("New push", "action", "new_push")
    fitting = [a for a in _ACTIONS if len(first) >= _SHORT and _fits(first, a.words)]
    for action in fitting[:_TABLES]:
        for table in _tables(request, name.strip(), action):
            yield _at(f"{action.words}: {table.name}", "action", action.page, table.name)


def _tables(request: HttpRequest, name: str, action: TableAction) -> list[Table]:
    rows = search_rows.tables(request.user, cluster_of(request), name, action.kind)
    return [t for t in rows if may(request, action.right, t.name)][:_TABLES]


def _fits(text: str, words: str) -> bool:
    """Does each word of the text begin one of these?"""
    known = words.lower().split()
    return all(any(w.startswith(part) for w in known) for part in text.lower().split())
