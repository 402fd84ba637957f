"""Cluster-wide settings of a real Pinot."""

from __future__ import annotations

from collections.abc import Mapping

from segments.clusters.pinot.calls import quoted, read_object
from segments.clusters.pinot.changes import Request, send_change
from segments.services.core.context import Context


def read_settings(ctx: Context) -> dict[str, str]:
    """All settings."""
    return {str(k): str(v) for k, v in read_object(ctx, "/cluster/configs").items()}


def change_settings(ctx: Context, changes: Mapping[str, str | None]) -> None:
    """Set these keys at once; then remove those that are None, one by one."""
    given = {key: value for key, value in changes.items() if value is not None}
    if given:
        request = Request("POST", "/cluster/configs", body=given)
        send_change(ctx, request, is_done=lambda: given.items() <= read_settings(ctx).items())
    for key in sorted(changes.keys() - given.keys()):
        _remove(ctx, key)


def _remove(ctx: Context, key: str) -> None:
    request = Request("DELETE", f"/cluster/configs/{quoted(key)}")
    send_change(ctx, request, is_done=lambda: key not in read_settings(ctx))
