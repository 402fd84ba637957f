"""Pushes as people and schedules see them: create, cancel, and resume those whose worker was lost."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from segments.domain.push.parts_by_size import MOST_BYTES, files_to_cut
from segments.domain.push.push_plan import InputFile, parts_by_file
from segments.domain.push.push_spec import PushSpec, parse_spec
from segments.domain.push.sequence_ids import numbered
from segments.domain.segments.segment_names import NameRule, make_rule, names_without_rows
from segments.domain.tables import schema as schemas
from segments.domain.tables.schema import Schema
from segments.domain.tables.secret_masks import mask
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, NotFound, StateConflict, TooManyRequests
from segments.gateways.deep_store.no_deep_store import REMEDY
from segments.gateways.input_files.choice import Choice
from segments.gateways.input_files.source import input_source
from segments.models import Push
from segments.segmentfile.columns.complex_type import read_complex_type
from segments.segmentfile.columns.ingest import read_ingestion
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.jobs.queue import enqueue_push
from segments.services.push.push_blocked import settle_blocked
from segments.services.push.push_revert import take_back
from segments.services.push.push_session import Session, find_push, lapsed, now
from segments.services.segments.replaced.by_push import check_names
from segments.services.tables.quota import check_quota
from segments.services.tables.table_record import read_table_config
from segments.store import paths

__all__ = ["cancel_push", "create_push", "find_push", "resume_lost"]

_OPEN: Final = (Push.State.QUEUED, Push.State.RUNNING)
#: A queued push that no worker took up for this long is handed to the queue again: soon the first time, since a worker
#: may have died with its task, and seldom afterwards, when all are at work.
_FIRST_PATIENCE_S: Final = 20.0
_QUEUE_PATIENCE_S: Final = 60.0
_PICKUP_S: Final = 20.0
_LONGEST_REASON: Final = 2000
_AGAIN_S: Final = 30


def create_push(
    ctx: Context,
    spec: str | Mapping[str, Any],
    actor: Actor,
    *,
    roots: Sequence[str],
    override_checks: str = "",
    overwrite: bool = False,
    strict_snapshot: bool = False,
    upload: uuid.UUID | None = None,
) -> Push:
    """Check everything that can be checked before work begins, freeze the plan, and store the push as QUEUED.

    ``spec`` is Pinot's job specification (YAML or JSON text, or values), ``roots`` the folders that may be read,
    ``override_checks`` why failed checks do not stop it. ``overwrite``: it may replace segments by name;
    ``strict_snapshot``: it does not switch when segments were added since its start; ``upload``: the upload whose
    folder it reads, and whose id is its own. Raises InvalidInput with the key (``field``), NotFound for table, folder
    or files, Forbidden for a folder outside the roots or a used-up quota, StateConflict while another push replaces the
    same table, or when it would replace segments by name, TooManyRequests when too many of one's own or the table's
    wait or run.
    """
    if not ctx.deep_store.exists:
        raise StateConflict("This installation has no deep store, so nothing can be pushed.", remedy=REMEDY)
    wanted = parse_spec(spec)
    config, schema = read_table_config(ctx, wanted.table), _read_schema(ctx, wanted.table.raw)
    _check_supported(config, schema)
    files, push_id = _input_files(ctx, wanted, roots), upload or uuid.uuid4()
    check_quota(ctx, config, 0)
    plan = {
        **_plan(ctx, wanted, config, schema, files, str(push_id)), "is_upload": upload is not None,
        "strict_snapshot": _checked_strict(config, is_strict=strict_snapshot or wanted.strict_snapshot),
        "overwrite": overwrite, "override_checks": (override_checks or wanted.override_checks)[:_LONGEST_REASON],
    }  # fmt: skip
    _check_names(ctx, config, plan)
    with transaction.atomic():
        _check_number(ctx, wanted, actor)
        _check_alone(ctx, wanted, config)
        push = _queued(ctx, push_id, wanted, plan, actor)
    audit.record(actor, "push", cluster=ctx.cluster, target=wanted.table.typed, push=str(push.pk), files=len(files))
    return push


def _input_files(ctx: Context, spec: PushSpec, roots: Sequence[str]) -> list[InputFile]:
    """Raises NotFound when no file matches."""
    rules = replace(ctx.inputs, roots=tuple(roots))
    source = input_source(rules.access(spec.input_dir, spec.file_system, table=spec.table.raw))
    folder = source.folder(spec.input_dir)
    choice = Choice(spec.recursive, spec.include, spec.exclude)
    found = source.list(folder, choice)
    if not found:
        raise choice.none_found(folder)
    return found


def _queued(ctx: Context, push_id: uuid.UUID, spec: PushSpec, plan: dict[str, Any], actor: Actor) -> Push:
    """The row of a new push."""
    return Push.objects.create(
        id=push_id,
        cluster=ctx.cluster,
        table_name=spec.table.raw,
        spec=spec.body,
        actor=actor.name,
        reason=actor.reason,
        entry_id=ctx.new_id(),
        plan=plan,
        files_total=len(plan["files"]),
        segments_total=len(plan["parts"]),
        lease_until=now(ctx, _FIRST_PATIENCE_S),
    )


def cancel_push(ctx: Context, push_id: str, actor: Actor) -> Push:
    """Stop a push and take back what it did. StateConflict when it is finished, or already switching (then revert its
    entry instead).

    The lease is taken from the runner, which stops at its next write; nothing of it becomes visible, since its uploads
    are fenced by the lineage entry that is reverted here.
    """
    push, owner = find_push(ctx, push_id), f"cancel {ctx.new_id()}"
    stages = [Push.Stage.LIST, Push.Stage.BUILD, Push.Stage.START]
    if push.plan.get("replaces"):
        stages.append(Push.Stage.UPLOAD)
    message = f"Cancelled by {actor.name}" + (f": {actor.reason}" if actor.reason else ".")
    may_stop = Q(state__in=_OPEN, stage__in=stages) | Q(state=Push.State.BLOCKED)
    taken = Push.objects.filter(may_stop, pk=push.pk).update(
        state=Push.State.RUNNING,
        lease_owner=owner,
        lease_until=now(ctx, ctx.limits.push_lease_s),
        stage=Push.Stage.REVERT,
        error=message,
        plan={**push.plan, "cancelled": True, "cancelled_by": actor.name},
    )
    if not taken:
        push.refresh_from_db()
        raise StateConflict(
            f"Push '{push_id}' is {push.get_state_display()} ({push.get_stage_display()}) and cannot be cancelled.",
            remedy="Revert its lineage entry instead." if push.plan.get("replaces") else "Delete its segments instead.",
        )
    push.refresh_from_db()
    audit.record(actor, "cancelPush", cluster=ctx.cluster, target=f"{push.table_name}_OFFLINE", push=push_id)
    take_back(Session(ctx, push, owner))
    push.refresh_from_db()
    return push


def resume_lost(ctx: Context) -> list[str]:
    """Hand pushes that nobody works on to the queue again; one sentence each. Each is then left alone for a while."""
    done = settle_blocked(ctx)
    for push in Push.objects.filter(cluster=ctx.cluster, state__in=_OPEN).filter(lapsed(ctx), lease_until__lt=now(ctx)):
        running = push.state == Push.State.RUNNING
        wait = _PICKUP_S if running else _QUEUE_PATIENCE_S
        same = Push.objects.filter(
            pk=push.pk, state=push.state, lease_owner=push.lease_owner, lease_until=push.lease_until
        )
        if not same.update(lease_owner="", lease_until=now(ctx, wait)):
            continue
        enqueue_push(ctx, str(push.pk), push.attempts)
        why = f"its worker was lost at {push.get_stage_display()}" if running else "no worker had taken it up"
        done.append(f"Push {push.pk} of {push.table_name} was queued again: {why}.")
    return done


def _read_schema(ctx: Context, raw: str) -> Schema:
    node = ctx.store.get(paths.schema(raw))
    if node is None or node.record is None:
        raise NotFound(f"Table '{raw}' has no schema.", remedy="Add it with POST /schemas.")
    return schemas.from_record(node.record)


def _check_supported(config: TableConfig, schema: Schema) -> None:
    """What Pinot would compute while building and we do not must not be left out silently."""
    ingestion = config.body.get("ingestionConfig") or {}
    for key in ("enrichmentConfigs", "schemaConformingTransformerConfig", "aggregationConfigs"):
        if ingestion.get(key):
            raise InvalidInput(
                f"'ingestionConfig.{key}' of table '{config.table}' is not supported by pushes.",
                remedy="Prepare the files.",
            )
    read_complex_type(config)
    read_ingestion(schema, config)  # refuses functions that are not there, by name


def _checked_strict(config: TableConfig, *, is_strict: bool) -> bool:
    if is_strict and not config.consistent_push:
        raise InvalidInput(
            f"'strictSnapshot' has no meaning for table '{config.table}': its pushes do not replace the whole table.",
            remedy="Leave it out, or set segmentIngestionType to REFRESH and consistentDataPush to true.",
            field="executionFrameworkSpec.extraConfigs.strictSnapshot",
        )
    return is_strict


def _plan(
    ctx: Context, spec: PushSpec, config: TableConfig, schema: Schema, files: Sequence[InputFile], push_id: str
) -> dict[str, Any]:
    start_ms = ctx.clock()
    rule = make_rule(
        spec.name_type, config.table.typed, spec.name_configs, start_ms=start_ms if config.consistent_push else None,
        is_append=not config.is_refresh, frequency=config.batch.segment_ingestion_frequency,
        has_time=config.time_column is not None, seed=str(start_ms), unique=f"{start_ms}_{push_id[:8]}",
    )  # fmt: skip
    return {
        "start_ms": start_ms,
        "replaces": config.consistent_push or spec.atomic_append,
        "covers_all": config.consistent_push,
        "names": rule.to_json(),
        "reader": spec.reader.to_json(),
        "schema": schema.body,
        "config": mask(config.body),
        "target_rows": spec.target_rows,
        "fail_on_empty": spec.fail_on_empty,
        "error_rate": _error_rate(spec, config),
        "input_dir": spec.input_dir,
        "file_system": dict(spec.file_system),
        "files": [f.__dict__ for f in files],
        "parts": [p.to_json() for p in numbered(parts_by_file(files), spec.name_configs)]
        if _is_cut_by_file(spec, files)
        else [],
    }


def _is_cut_by_file(spec: PushSpec, files: Sequence[InputFile]) -> bool:
    """One segment per file, unless segments of so many rows are wanted, or a file is too large for one."""
    return not spec.target_rows and not files_to_cut(files, spec.reader.format, MOST_BYTES)


def _error_rate(spec: PushSpec, config: TableConfig) -> float:
    """The share of rows that may be bad: none, unless the specification says so, or the table stores what does not fit
    as the default.
    """
    if spec.error_rate is not None:
        return spec.error_rate
    return 1.0 if config.ingestion.continue_on_error else 0.0


def _check_names(ctx: Context, config: TableConfig, plan: Mapping[str, Any]) -> None:
    """Names that the rows do not change are known before anything is read; the others are checked when all is built."""
    if plan["overwrite"] or plan["replaces"]:
        return
    parts = [(p["sequence"], p["pieces"][0]["file"]["path"]) for p in plan["parts"]] or [(0, plan["files"][0]["path"])]
    check_names(ctx, config, dict.fromkeys(names_without_rows(NameRule(**plan["names"]), parts)))


def _check_alone(ctx: Context, spec: PushSpec, config: TableConfig) -> None:
    if not config.consistent_push:
        return
    other = Push.objects.filter(cluster=ctx.cluster, table_name=spec.table.raw, state__in=_OPEN).first()
    if other is not None:
        raise StateConflict(
            f"Push '{other.pk}' already replaces table '{spec.table}' ({other.get_stage_display()}).",
            remedy="Wait until it is done, or cancel it.",
            push=str(other.pk),
        )


def _check_number(ctx: Context, spec: PushSpec, actor: Actor) -> None:
    """Each push costs a plan, a worker and a disk; a script that goes wild must not fill them."""
    is_open = Push.objects.filter(state__in=_OPEN)
    of_user, of_table = is_open.filter(actor=actor.name), is_open.filter(cluster=ctx.cluster, table_name=spec.table.raw)
    for found, whose, most, setting in (
        (of_user, f"user '{actor.name}'", settings.PUSHES_PER_USER, "PINOTADMIN_PUSHES_PER_USER"),
        (of_table, f"table '{spec.table.raw}'", settings.PUSHES_PER_TABLE, "PINOTADMIN_PUSHES_PER_TABLE"),
    ):
        count = found.count()
        if count >= most:
            raise TooManyRequests(
                f"Pushes of {whose} that wait or run: {count}; at most {most} {'is' if most == 1 else 'are'} taken.",
                remedy=f"Wait until some are done, cancel them, or raise {setting}.",
                retry_after_s=_AGAIN_S,
            )
