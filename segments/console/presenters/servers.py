"""Instances as a page lists them: state, address, and what each server says it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from segments.console.presenters.badges import Mark
from segments.domain.rebalance.drain import Drain
from segments.services.core.context import Context
from segments.services.rebalance.drain_record import all_drains
from segments.store.records.instances import InstanceConfig, instance_configs, live_instances

_SERVER: Final = "Server_"
#: Seconds for a server's answer; the page says so when one is slower.
_ANSWER_S: Final = 3.0
_KINDS: Final = ("Server", "Broker", "Controller", "Minion")


@dataclass(frozen=True)
class InstanceRow:
    """One instance. ``tables``: typed names of what it holds, None when it does not say; ``process``: pid@host, empty
    while it is down; ``is_drained``: a drain of it is on record, ``problem``: what is in its way; ``next_step``: what a
    person does once it is over.
    """

    name: str
    kind: str
    mark: Mark
    config: InstanceConfig
    process: str
    tables: list[str] | None
    is_drained: bool = False
    problem: str = ""
    next_step: str = ""

    @property
    def is_server(self) -> bool:
        """Does it hold segments?"""
        return self.kind == "Server"

    @property
    def notes(self) -> list[str]:
        """Sentences below its state."""
        return [text for text in (self.problem, self.next_step) if text]

    @property
    def drain_button(self) -> str:
        """The id of the button that drains it, or ends that."""
        return f"m-{self.name}"

    @property
    def button(self) -> str:
        """The id of its button."""
        return f"d-{self.name}"


def instance_rows(ctx: Context, may_read: Callable[[str], bool]) -> list[InstanceRow]:
    """Every instance that ever joined; servers first, by name. Live servers of our own are asked what they hold, all at
    once.

    Tables are named as far as ``may_read`` says yes to them.
    """
    configs, live = instance_configs(ctx.store), live_instances(ctx.store)
    asked = sorted(n for n in configs if n in live and n.startswith(_SERVER)) if ctx.engine.offers.own_processes else []
    drains = {found.server: found for found in all_drains(ctx)}
    answers = ctx.engine.instances.ask_servers(ctx, asked, "/tables", _is_readable, timeout_s=_ANSWER_S)
    rows = []
    for name in sorted(configs, key=lambda n: (_rank(n), n)):
        answer = answers.by_server.get(name)
        process = live[name].process if name in live else ""
        tables = sorted(filter(may_read, answer["tables"])) if answer else None
        is_unreachable = name not in live
        is_silent = name in asked and answer is None
        drain = drains.get(name)
        mark = _mark(configs[name], drain, is_unreachable, is_silent)
        rows.append(
            InstanceRow(
                name,
                _kind(name),
                mark,
                configs[name],
                process,
                tables,
                drain is not None,
                _problem(drain, may_read),
                _next_step(name, drain, is_up=not is_unreachable),
            )
        )
    return rows


def _problem(drain: Drain | None, may_read: Callable[[str], bool]) -> str:
    found = {table: why for table, why in drain.problems.items() if may_read(table)} if drain is not None else {}
    return f"{min(found)}: {found[min(found)]}" if found else ""


def _next_step(name: str, drain: Drain | None, *, is_up: bool) -> str:
    if drain is None or drain.is_at_work:
        return ""
    return "Nothing is left on it. " + ("Stop it for good." if is_up else f"DELETE /instances/{name} removes it.")


def _mark(config: InstanceConfig, drain: Drain | None, is_unreachable: bool, is_silent: bool) -> Mark:
    if drain is not None and drain.is_at_work:
        return Mark("down, draining" if is_unreachable else "draining", "warn", "alert")
    if drain is not None:
        return Mark("down, drained" if is_unreachable else "drained", "warn", "alert")
    if is_unreachable:
        return Mark("down", "bad", "cross")
    if is_silent:
        return Mark("does not answer", "warn", "alert")
    if not config.is_enabled:
        return Mark("disabled", "warn", "alert")
    return Mark("alive", "ok", "check")


def _kind(name: str) -> str:
    return name.partition("_")[0]


def _rank(name: str) -> int:
    kind = _kind(name)
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _is_readable(answer: Any) -> bool:
    return (
        isinstance(answer, dict)
        and isinstance(answer.get("tables"), list)
        and all(isinstance(t, str) for t in answer["tables"])
    )
