"""Calls to the embedded cluster's servers: to one, or to several at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from segments.clusters.embedded.connected_engine import connected
from segments.errors import PinotAdminError, Unavailable
from segments.services.core.context import Context
from segments.services.engine.instances import ANSWER_S, Answers
from segments.store.records.instances import BROKER_PREFIX, InstanceConfig, instance_configs, live_instances
from segments.traces import carried


def ask_server(ctx: Context, server: str, method: str, path: str, timeout_s: float) -> Any:
    """What one server answers, as JSON. Unavailable when it never joined or does not answer; Rejected as it says."""
    config = instance_configs(ctx.store).get(server)
    if config is None:
        raise Unavailable(f"Server {server} cannot be asked.", remedy="Try again in a moment.")
    return connected(ctx).servers.ask(config.admin_url, method, path, timeout_s)


def ask_servers(
    ctx: Context,
    servers: list[str],
    path: str,
    is_readable: Callable[[Any], bool],
    *,
    method: str = "GET",
    timeout_s: float = ANSWER_S,
) -> Answers:
    """As ``InstanceEngine.ask_servers``."""
    live, configs = live_instances(ctx.store), instance_configs(ctx.store)
    asked = [s for s in servers if s in live and s in configs]
    gateway = connected(ctx).servers

    def ask(server: str) -> Any:
        try:
            return gateway.ask(_address(configs[server]), method, path, timeout_s)
        except PinotAdminError as error:
            return error

    if not asked:
        return Answers(silent=tuple(servers))
    with ThreadPoolExecutor(min(16, len(asked)), "ask-servers") as pool:
        waiting = {server: pool.submit(carried(ask), server) for server in asked}
        answers = {server: future.result() for server, future in waiting.items()}
    good = {s: a for s, a in answers.items() if not isinstance(a, PinotAdminError) and is_readable(a)}
    odd = tuple(s for s, a in answers.items() if not isinstance(a, PinotAdminError) and s not in good)
    return Answers(good, tuple(s for s in servers if s not in good and s not in odd), odd)


def _address(config: InstanceConfig) -> str:
    """Where an instance answers our calls: a web process, which is a broker of the cluster, at its only port."""
    return config.web_url if config.instance.startswith(BROKER_PREFIX) else config.admin_url
