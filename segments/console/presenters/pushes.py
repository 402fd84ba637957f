"""A push as its page shows it: stages with seconds, progress, rates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath

import yaml
from django.utils import timezone

from segments.gateways.input_files.uploaded_files import FOLDER
from segments.models import Push, PushSegment


@dataclass(frozen=True)
class StageLine:
    """One stage. ``status`` is done, current, failed or pending; ``seconds`` None before it began."""

    code: str
    label: str
    status: str
    seconds: float | None


@dataclass(frozen=True)
class Progress:
    """What is known of a push now."""

    push: Push
    stages: list[StageLine]
    is_over: bool
    seconds: float
    rows_per_second: float | None
    percent: int

    @property
    def failed_in(self) -> str:
        """What the push was doing when it failed, as in 'building segments'; empty when it did not."""
        return next((s.label for s in self.stages if s.status == "failed"), "")


def progress(push: Push) -> Progress:
    """Numbers for the page of one push."""
    is_over = push.state in Push.TERMINAL
    began = push.started_at or push.created_at
    seconds = max(((push.finished_at if is_over and push.finished_at else timezone.now()) - began).total_seconds(), 0.0)
    building = float(push.stage_seconds.get(Push.Stage.BUILD, 0) or 0) or seconds
    rate = push.rows / building if push.rows and building > 0 else None
    return Progress(push, _stages(push, is_over), is_over, seconds, rate, _percent(push))


def segment_state(push: Push, segment: PushSegment) -> str:
    """How far one segment is; REMOVED after a replacement was taken back."""
    is_gone = push.state in (Push.State.FAILED, Push.State.CANCELLED) and push.stage == Push.Stage.REVERT
    was_made = segment.state != PushSegment.State.PLANNED
    return "REMOVED" if is_gone and was_made and push.plan.get("replaces") else segment.state


def _stages(push: Push, is_over: bool) -> list[StageLine]:
    stages = [s for s in Push.Stage if s != Push.Stage.REVERT or push.stage == s]
    reached = _broken_stage(push) if push.stage == Push.Stage.REVERT else push.stage
    at = [str(s) for s in stages].index(reached) if reached in map(str, stages) else 0
    lines = []
    for position, stage in enumerate(stages):
        seconds = push.stage_seconds.get(str(stage))
        if stage == Push.Stage.REVERT:
            status = "done" if is_over else "current"
        elif push.state == Push.State.DONE or position < at:
            status = "done" if seconds is not None or push.state == Push.State.DONE else "pending"
        elif position == at and push.state != Push.State.QUEUED:
            is_stuck = is_over or push.state == Push.State.BLOCKED or push.stage == Push.Stage.REVERT
            status = "failed" if is_stuck else "current"
        else:
            status = "pending"
        lines.append(StageLine(str(stage), str(stage.label), status, float(seconds) if seconds is not None else None))
    return lines


def _broken_stage(push: Push) -> str:
    """The stage a push that is taken back had come to: the first one whose seconds were never written down."""
    forward = [s for s in Push.Stage if s != Push.Stage.REVERT]
    return str(next((s for s in forward if str(s) not in push.stage_seconds), Push.Stage.END))


def _percent(push: Push) -> int:
    """Built and registered segments count half each: both are work that is done or not."""
    if push.state == Push.State.DONE:
        return 100
    if not push.segments_total:
        return 0
    return min(99, int(50 * (push.segments_built + push.segments_uploaded) / push.segments_total))


def lease_is_lost(push: Push, now: datetime) -> bool:
    """Has the worker stopped renewing its lease?"""
    return push.state == Push.State.RUNNING and push.lease_until is not None and push.lease_until < now


def as_sent(push: Push, text: str) -> str:
    """A text about files of a push, in which a file that somebody sent has the name that they gave it, without the
    folder in which it is kept.
    """
    for folder in _upload_folders(push):
        text = text.replace(f"{folder}/", "")
    return text


def spec_text(push: Push) -> str:
    """The job specification, as YAML."""
    spec = dict(push.spec)
    if _upload_folders(push):
        spec["inputDirURI"] = f"{', '.join(PurePath(path).name for path in _paths(push))} (sent)"
    return yaml.safe_dump(spec, sort_keys=False, allow_unicode=True)


def _upload_folders(push: Push) -> list[str]:
    """Where the files of an upload are, as the specification says and as they were found; empty: it is none."""
    given = str(push.spec.get("inputDirURI", "")).rstrip("/")
    if not push.plan.get("is_upload") and FOLDER not in PurePath(given).parts:
        return []
    return list(dict.fromkeys([given, *(str(PurePath(path).parent) for path in _paths(push))]))


def _paths(push: Push) -> list[str]:
    return [str(file["path"]) for file in push.plan.get("files") or []]
