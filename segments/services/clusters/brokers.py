"""Which brokers answer queries, by tenant and table, as Pinot's query clients ask for them before they query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from segments.errors import InvalidInput, NotFound
from segments.names import split_table_name
from segments.services.core.context import Context
from segments.store import paths
from segments.store.records.instances import instance_configs, live_instances

_PREFIX: Final = "Broker_"
_TAG_END: Final = "_BROKER"
_STATES: Final = (None, "ONLINE", "OFFLINE")


@dataclass(frozen=True, order=True)
class BrokerRef:
    """A broker and where it takes queries."""

    instance: str
    host: str
    port: int


def brokers_by_tenant(ctx: Context, state: str | None = None) -> dict[str, list[BrokerRef]]:
    """{tenant: brokers}. ``state`` ONLINE: those that are alive, OFFLINE: the others, None: all. InvalidInput for other
    words.
    """
    wanted = state.upper() if state else None
    if wanted not in _STATES:
        raise InvalidInput(f"A broker's state is not '{state}'.", remedy="Use ONLINE or OFFLINE, or leave it out.")
    live, found = live_instances(ctx.store), dict[str, list[BrokerRef]]()
    for name, config in sorted(instance_configs(ctx.store).items()):
        is_wanted = wanted is None or (name in live) == (wanted == "ONLINE")
        if name.startswith(_PREFIX) and is_wanted:
            for tag in config.tags:
                if tag.endswith(_TAG_END):
                    found.setdefault(tag.removesuffix(_TAG_END), []).append(BrokerRef(name, config.host, config.port))
    return found


def brokers_of_tenant(ctx: Context, tenant: str, state: str | None = None) -> list[BrokerRef]:
    """The brokers of one tenant. NotFound when no broker was ever tagged for it."""
    if tenant not in brokers_by_tenant(ctx):
        raise NotFound(f"Tenant '{tenant}' has no brokers.", remedy="List them with GET /brokers/tenants.")
    return brokers_by_tenant(ctx, state).get(tenant, [])


def brokers_by_table(ctx: Context, state: str | None = None) -> dict[str, list[BrokerRef]]:
    """{raw table: brokers}: every broker of this cluster answers for every table."""
    brokers = _all(brokers_by_tenant(ctx, state).values())
    return dict.fromkeys(sorted({split_table_name(t)[0] for t in ctx.store.children(paths.TABLE_CONFIGS)}), brokers)


def live_brokers(ctx: Context, tables: Iterable[str] = ()) -> dict[str, list[BrokerRef]]:
    """{typed table: live brokers} of the tables named (raw or typed names), or of all. Names that no table has are left
    out.
    """
    brokers, asked = _all(brokers_by_tenant(ctx, "ONLINE").values()), set(tables)
    known = sorted(ctx.store.children(paths.TABLE_CONFIGS))
    return {t: brokers for t in known if not asked or t in asked or split_table_name(t)[0] in asked}


def brokers_of_table(ctx: Context, table: str, state: str | None = None) -> list[BrokerRef]:
    """The brokers of one table (raw or typed name). NotFound when there is none of that name."""
    raw, kind = split_table_name(table)
    known = set(ctx.store.children(paths.TABLE_CONFIGS))
    if not any(t == table if kind else split_table_name(t)[0] == raw for t in known):
        raise NotFound(f"Table '{table}' does not exist.", remedy="List the tables with GET /tables.")
    return _all(brokers_by_tenant(ctx, state).values())


def _all(lists: Iterable[list[BrokerRef]]) -> list[BrokerRef]:
    return sorted({broker for listed in lists for broker in listed})
