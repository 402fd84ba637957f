"""Running queries of all web processes: each answers some, and a list or a cancellation reaches any of them.

A process hands its own to the others (they prove who they are), and who asks decides what a person may see and end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from segments.errors import NotFound, PinotAdminError
from segments.services.access.api_tokens import person_name
from segments.services.access.rights import has_right_everywhere
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.queries.running import RunningQueries, RunningQuery
from segments.store.records.instances import BROKER_PREFIX, instance_configs, live_instances

#: Seconds for the answer of another web process; one that is frozen is passed over.
_ANSWER_S: Final = 2.0
_PATH: Final = "/api/v1/queries"


@dataclass(frozen=True)
class Found:
    """A running query, wherever it runs. ``web``: the instance that answers it, empty for this process."""

    id: str
    client_id: str
    owner: str
    sql: str
    running_ms: int
    web: str = ""


def all_running(ctx: Context, own: RunningQueries, user: Any, *, of_all: bool = False) -> list[Found]:
    """A person's own queries on this cluster, of every web process, the longest first; ``of_all``: everybody's, for
    administrators of the installation. Processes that do not answer are left out.
    """
    here = [_found(own, query) for query in own.visible(user, ctx.cluster, of_all=of_all)]
    is_all = of_all and has_right_everywhere(user, "administer")
    there = [found for found in _elsewhere(ctx) if is_all or found.owner == person_name(user)]
    return sorted([*here, *there], key=lambda found: -found.running_ms)


def of_this_process(own: RunningQueries, cluster: str) -> list[Found]:
    """All that this process answers, for another process of the cluster."""
    return [_found(own, query) for query in own.all_of(cluster)]


def cancel(ctx: Context, own: RunningQueries, user: Any, actor: Actor, name: str) -> list[str]:
    """As ``RunningQueries.cancel``, wherever the query runs; the ids of what is being ended."""
    try:
        return [query.id for query in own.cancel(ctx, user, actor, name)]
    except NotFound:
        mine = person_name(user)
        seen = all_running(ctx, own, user, of_all=True)
        found = [q for q in seen if q.web and (q.id == name or (q.client_id == name and q.owner == mine))]
        if not found:
            raise
    for query in found:
        with audit.recorded(ctx, actor, "cancelQuery", query.id, owner=query.owner):
            path = f"{_PATH}/{quote(query.id, safe='')}"
            ctx.engine.instances.ask_servers(
                ctx, [query.web], path, lambda _: True, method="DELETE", timeout_s=_ANSWER_S
            )
    return [query.id for query in found]


def _elsewhere(ctx: Context) -> Iterable[Found]:
    """Of the other web processes that answer."""
    try:
        webs = _others(ctx)
        answers = ctx.engine.instances.ask_servers(ctx, webs, _PATH, _is_list, timeout_s=_ANSWER_S) if webs else None
    except PinotAdminError:
        return []  # nobody says who else there is: what runs here is known
    by_web = answers.by_server if answers is not None else {}
    return [_parsed(web, body) for web, answer in by_web.items() for body in answer["queries"]]


def _others(ctx: Context) -> list[str]:
    if not ctx.engine.offers.own_processes:
        return []  # a Pinot's brokers answer its queries
    configs, live = instance_configs(ctx.store), live_instances(ctx.store)
    webs = (name for name in sorted(configs) if name.startswith(BROKER_PREFIX) and name in live)
    return [name for name in webs if configs[name].web_url != ctx.controller_url]


def _found(own: RunningQueries, query: RunningQuery) -> Found:
    return Found(query.id, query.client_id, query.owner, query.sql, round(own.seconds(query) * 1000))


def _parsed(web: str, body: Any) -> Found:
    client_id = str(body["clientQueryId"] or "")
    return Found(str(body["id"]), client_id, str(body["owner"]), str(body["sql"]), int(body["runningMs"]), web)


def _is_list(answer: Any) -> bool:
    return isinstance(answer, dict) and all(
        isinstance(body, dict) and {"id", "clientQueryId", "owner", "sql", "runningMs"} <= body.keys()
        for body in answer.get("queries", [None])
    )
