"""Instances, cluster settings, reset and reload of segments of a real Pinot."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from segments.clusters.pinot.calls import quoted, read_object, version
from segments.clusters.pinot.changes import change
from segments.domain.formats.recorded_change import recorded_change
from segments.domain.pinot import version as pinot_version
from segments.domain.pinot.version import PinotVersion
from segments.domain.segments.ideal_state import ERROR
from segments.errors import NotFound
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.store import paths

#: From here on an instance's state is a parameter of a PUT.
_PUT_STATE: Final = PinotVersion(1, 0)
_JOB: Final = re.compile(r"[jJ]ob ?[iI]d\W+([0-9a-f-]{36})")
_SENT: Final = re.compile(r"numMessagesSent\W+(\d+)|sent (\d+) reload")


def add_instance(ctx: Context, *, host: str, port: int, kind: str, tags: Sequence[str], actor: Actor) -> str:
    """Register an instance; returns its name. StateConflict when it is known."""
    name = f"{kind.capitalize()}_{host}_{port}"
    body = {"host": host, "port": port, "type": kind.upper(), "tags": list(tags)}
    change(
        ctx,
        actor,
        "addInstance",
        name,
        ("POST", "/instances"),
        body=body,
        is_done=lambda: _is_known(ctx, name),
        tags=list(tags),
    )
    return name


def set_instance_state(ctx: Context, name: str, *, is_enabled: bool, actor: Actor) -> None:
    """Enable or disable an instance. NotFound."""
    word, found = "enable" if is_enabled else "disable", version(ctx)
    is_old = found is not None and found < _PUT_STATE
    # Both forms take plain text only; the old one in the body.
    change(
        ctx, actor, f"{word}Instance", name, ("POST" if is_old else "PUT", f"/instances/{quoted(name)}/state"),
        params=None if is_old else {"state": word.upper()}, body=word.upper().encode() if is_old else b"",
        headers={"Content-Type": "text/plain"}, is_done=lambda: False,
    )  # fmt: skip


def drop_instance(ctx: Context, name: str, *, actor: Actor) -> None:
    """Forget an instance. NotFound; StateConflict while it is alive or in use."""
    change(
        ctx,
        actor,
        "dropInstance",
        name,
        ("DELETE", f"/instances/{quoted(name)}"),
        is_done=lambda: not _is_known(ctx, name),
    )


def read_settings(ctx: Context) -> dict[str, str]:
    """Cluster-wide settings."""
    return {str(k): str(v) for k, v in read_object(ctx, "/cluster/configs").items()}


def set_settings(ctx: Context, changes: Mapping[str, str], *, before: Mapping[str, str], actor: Actor) -> None:
    """Set these keys; ``before`` is what they were, for the audit."""

    def is_done() -> bool:
        now = read_settings(ctx)
        return all(now.get(k) == v for k, v in changes.items())

    change(
        ctx,
        actor,
        "setClusterConfigs",
        "",
        ("POST", "/cluster/configs"),
        body=dict(changes),
        is_done=is_done,
        changes=dict(changes),
        **recorded_change(dict(before), dict(changes)),
    )


def remove_setting(ctx: Context, key: str, *, actor: Actor) -> None:
    """Remove a key. NotFound when it is not set."""
    before = {k: v for k, v in read_settings(ctx).items() if k == key}
    if not before:
        raise NotFound(f"Cluster setting '{key}' is not set.", remedy="List them with GET /cluster/configs.")
    request = ("DELETE", f"/cluster/configs/{quoted(key)}")
    change(
        ctx,
        actor,
        "deleteClusterConfig",
        key,
        request,
        is_done=lambda: key not in read_settings(ctx),
        **recorded_change(before, {}),
    )


def reset_segment(ctx: Context, table: TableName, segment: str, *, target: str | None, actor: Actor) -> int:
    """Begin a segment anew on its replicas, or on ``target``; returns how many that are. A reset may be asked for
    twice.
    """
    replicas = _replicas(ctx, table, [segment], target)
    request = ("POST", f"/segments/{quoted(table.typed)}/{quoted(segment)}/reset")
    change(
        ctx,
        actor,
        "resetSegment",
        table.typed,
        request,
        params={"targetInstance": target},
        is_done=lambda: False,
        segment=segment,
        instance=target or "",
        replicas=replicas,
    )
    return replicas


def reset_table(ctx: Context, table: TableName, *, errors_only: bool, target: str | None, actor: Actor) -> int:
    """Of every segment; ``errors_only``: only those in ERROR, one by one where the version can not choose itself."""
    view = ctx.store.get(paths.external_view(table.typed))
    rows = view.record.maps if view and view.record else {}
    broken = sorted(s for s, row in rows.items() if any(v == ERROR and target in (None, i) for i, v in row.items()))
    if errors_only and not pinot_version.has(version(ctx), pinot_version.RESET_ERRORS):
        return sum(reset_segment(ctx, table, s, target=target, actor=actor) for s in broken)
    count = _replicas(ctx, table, broken if errors_only else None, target)
    params = {"targetInstance": target, "errorSegmentsOnly": errors_only}
    request = ("POST", f"/segments/{quoted(table.typed)}/reset")
    change(
        ctx,
        actor,
        "resetSegments",
        table.typed,
        request,
        params=params,
        is_done=lambda: False,
        errorsOnly=errors_only,
        replicas=count,
    )
    return count


def reload_segments(
    ctx: Context, table: TableName, *, segments: Collection[str] | None, force_download: bool, actor: Actor
) -> dict[str, Any]:
    """Have servers load segments, or all of the table, again; Pinot's answer, of the last segment when several are
    named.
    """
    params = {"type": table.type, "forceDownload": force_download}
    answer: Any = None
    for segment in [None] if segments is None else sorted(segments):
        where = f"/segments/{quoted(table.typed)}/" + (f"{quoted(segment)}/reload" if segment else "reload")
        answer = change(
            ctx,
            actor,
            "reloadSegments",
            table.typed,
            ("POST", where),
            params=params,
            is_done=lambda: False,
            segment=segment or "",
        )
    return _reload_answer(answer)


def _reload_answer(answer: Any) -> dict[str, Any]:
    """Messages sent and job in the text of Pinot's answer, which each version words differently."""
    text = str(answer.get("status") or "") if isinstance(answer, dict) else str(answer or "")
    sent, job = _SENT.search(text), _JOB.search(text)
    stored = "FAILED" if "FAILED" in text else "SUCCESS"
    return {
        "numMessagesSent": next((g for g in sent.groups() if g), "") if sent else "",
        "reloadJobId": job.group(1) if job else "",
        "reloadJobMetaZKStorageStatus": stored,
        "status": text,
    }


def _replicas(ctx: Context, table: TableName, segments: Sequence[str] | None, target: str | None) -> int:
    ideal = ctx.store.get(paths.ideal_state(table.typed))
    rows = ideal.record.maps if ideal and ideal.record else {}
    chosen = rows if segments is None else {s: rows[s] for s in segments if s in rows}
    if segments and not chosen:
        raise NotFound(
            f"Segment '{segments[0]}' is not assigned in table '{table}'.",
            remedy="List them with GET /segments/{table}.",
        )
    return sum(1 for row in chosen.values() for i in row if target in (None, i))


def _is_known(ctx: Context, name: str) -> bool:
    return ctx.store.exists(paths.participant(name)) is not None
