"""Which instances a real Pinot has, and whether they serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from segments.clusters.pinot.calls import quoted, version
from segments.clusters.pinot.changes import Request, send_change
from segments.domain.pinot.capabilities import PinotVersion
from segments.services.clusters.instances import instance_exists
from segments.services.core.context import Context
from segments.store import paths

#: From here on an instance's state is a parameter of a PUT.
_PUT_STATE: Final = PinotVersion(1, 0)


def add_instance(ctx: Context, name: str, address: tuple[str, int], kind: str, tags: Sequence[str]) -> None:
    """Register an instance. StateConflict when it is known."""
    if _is_known(ctx, name):
        raise instance_exists(name)
    host, port = address
    body = {"host": host, "port": port, "type": kind, "tags": list(tags)}
    send_change(ctx, Request("POST", "/instances", body=body), is_done=lambda: _is_known(ctx, name))


def set_instance_state(ctx: Context, name: str, *, is_enabled: bool) -> None:
    """Enable or disable an instance. NotFound."""
    word, found = "ENABLE" if is_enabled else "DISABLE", version(ctx)
    path, headers = f"/instances/{quoted(name)}/state", {"Content-Type": "text/plain"}
    # Both forms take plain text only; the old one in the body.
    request = (
        Request("POST", path, body=word.encode(), headers=headers)
        if found is not None and found < _PUT_STATE
        else Request("PUT", path, {"state": word}, b"", headers)
    )
    send_change(ctx, request, is_done=lambda: False)


def set_instance_tags(ctx: Context, name: str, tags: Sequence[str]) -> None:
    """Give an instance exactly these tags. NotFound."""

    def is_done() -> bool:
        node = ctx.store.get(paths.participant(name))
        return node is not None and node.record is not None and node.record.lists.get("TAG_LIST") == list(tags)

    request = Request("PUT", f"/instances/{quoted(name)}/updateTags", {"tags": ",".join(tags)})
    send_change(ctx, request, is_done=is_done)


def drop_instance(ctx: Context, name: str) -> None:
    """Forget an instance. NotFound; StateConflict while it is alive or in use."""
    send_change(ctx, Request("DELETE", f"/instances/{quoted(name)}"), is_done=lambda: not _is_known(ctx, name))


def _is_known(ctx: Context, name: str) -> bool:
    return ctx.store.exists(paths.participant(name)) is not None
