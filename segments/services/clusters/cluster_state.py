"""Writes down how a Pinot cluster was found: its controller's state with since-when, and how far the mirror is."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from segments.domain.formats.storable_text import without_nul
from segments.models import Cluster

_LONGEST = 2000


def note_state(cluster: str, state: str, error: str = "", **learnt: str) -> None:
    """The controller's state now; ``state_since`` changes with the state only. ``learnt``: version, pinot_name (empty:
    no change).
    """
    row = Cluster.objects.filter(name=cluster).only("state", "state_since").first()
    if row is None:
        return
    now = timezone.now()
    changes: dict[str, Any] = {"state": state, "last_error": without_nul(error)[:_LONGEST], "checked_at": now}
    if row.state != state or row.state_since is None:
        changes["state_since"] = now
    Cluster.objects.filter(name=cluster).update(**changes, **{k: v for k, v in learnt.items() if v})


def note_mirror(cluster: str, error: str = "", *, calls_per_minute: int | None = None) -> None:
    """Whether the mirror is in step (no error) or why it is not, and since when."""
    now = timezone.now()
    changes: dict[str, Any] = {} if calls_per_minute is None else {"calls_per_minute": calls_per_minute}
    rows = Cluster.objects.filter(name=cluster)
    if error:
        rows.filter(mirror_error_since=None).update(mirror_error_since=now)
        rows.update(mirror_error=without_nul(error)[:_LONGEST], **changes)
    else:
        rows.update(mirrored_at=now, mirror_error="", mirror_error_since=None, **changes)
