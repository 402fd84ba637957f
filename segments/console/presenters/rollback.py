"""The rollback preview as a comparison: before, after, difference."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from segments.services.replacement.rollback import RollbackPreview
from segments.services.replacement.rollback_preview import RevertPreview, SnapshotSummary


@dataclass(frozen=True)
class Line:
    """One line of the comparison. ``kind`` says how to show the values: count, bytes or time (epoch ms)."""

    label: str
    kind: str
    before: int | None
    after: int | None

    @property
    def change(self) -> int | None:
        """After minus before; None where it has no meaning."""
        return None if self.before is None or self.after is None or self.kind == "time" else self.after - self.before

    @property
    def percent(self) -> str:
        """The change in percent, signed; empty when there is none."""
        if not self.change or not self.before:
            return ""
        share = 100 * self.change / self.before
        text = f"{share:+.1f}%" if abs(share) >= 0.05 else f"{'+' if share > 0 else '-'}<0.1%"
        return text.replace("-", "\N{MINUS SIGN}")


def comparison(preview: RevertPreview | RollbackPreview) -> list[Line]:
    """Rows, segments, bytes and time range, before and after a rollback."""
    return sides(preview.before, preview.after)


def sides(before: SnapshotSummary, after: SnapshotSummary) -> list[Line]:
    """Rows, segments, bytes and time range of two snapshots."""

    def line(label: str, kind: str, key: str) -> Line:
        return Line(label, kind, _get(before, key), _get(after, key))

    return [
        line("Rows", "count", "rows"),
        line("Segments", "count", "segments"),
        line("Size", "bytes", "bytes"),
        line("First time", "time", "start_ms"),
        line("Last time", "time", "end_ms"),
    ]


def warnings(preview: RevertPreview | RollbackPreview) -> list[str]:
    """What a careful person would want to know before pressing the button."""
    found = []
    if preview.after.segments == 0 and preview.before.segments > 0:
        found.append("Queries will see no rows at all afterwards: the old side of this entry is empty.")
    elif preview.before.rows and preview.after.rows < preview.before.rows * 0.5:
        found.append("Queries will see less than half of today's rows.")
    if preview.deleted_segments:
        found.append(way_back(preview.undo_until_ms))
    return found


def way_back(until_ms: int | None) -> str:
    """Whether, and until when, a rollback can be undone."""
    if until_ms is None:
        return (
            "This cannot be undone: no files are kept of the segments that it deletes. Only another push brings the "
            "data back."
        )
    return f"The new side is deleted; its files are kept until {minute(until_ms)}, and until then this can be undone."


def minute(at_ms: int) -> str:
    """A time in a sentence."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"


def fingerprint(preview: RevertPreview) -> str:
    """Stands for what the person saw, so that a confirmation of something else is noticed. Deadlines do not count: they
    move.
    """
    seen = {k: v for k, v in asdict(preview).items() if not k.endswith("_until_ms")}
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:32]


def fingerprint_of_steps(preview: RollbackPreview) -> str:
    """The same for several replacements: which they are."""
    return hashlib.sha256(" ".join(step.entry_id for step in preview.steps).encode()).hexdigest()[:32]


def deadline(preview: RevertPreview) -> datetime | None:
    """Until when the old side is kept."""
    until = preview.possible_until_ms
    return None if until is None else datetime.fromtimestamp(until / 1000, UTC)


def _get(summary: SnapshotSummary, key: str) -> Any:
    return getattr(summary, key)
