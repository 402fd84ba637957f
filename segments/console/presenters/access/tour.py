"""The tour on the start page: its steps in words, each with the page on which it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.urls import reverse

from segments.names import OFFLINE, REALTIME
from segments.services.tour.progress import progress, with_messages

#: Step -> (what to do, how, the type of table that it needs, its page).
_WORDS: Final[dict[str, tuple[str, str, str, str]]] = {
    "query": ("Query a table", "Write SQL, or open a table and press Query.", "", "query"),
    "rollback": ("Roll a table back", "Choose an older snapshot; a preview shows what changes.", OFFLINE, "history"),
    "undo": ("Undo it", "The snapshot that queries see now has the button.", OFFLINE, "history"),
    "pause": ("Pause consumption", "Give a reason: it is shown while rows wait.", REALTIME, "consumption"),
    "resume": ("Resume it", "It goes on where it stopped; the lag shrinks.", REALTIME, "consumption"),
    "replay": (
        "Replay a message that was set aside",
        "It is kept until it gives a row. Where a value does not fit, have null stored for it: tab Config, "
        "“Change the settings”.",
        REALTIME, "set_aside",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class TourStep:
    """``address``: where it is done; empty when there is no table for it yet."""

    title: str
    hint: str
    address: str
    is_done: bool


def tour_steps(user: Any, tables: Sequence[str]) -> list[TourStep]:
    """All steps, those that were done marked; none when the tour is over. ``tables`` are typed names that the person
    sees.
    """
    done = progress(user)
    if done is None:
        return []
    # A table with messages to replay comes first, so that all steps of consumption are on one table.
    ordered = [*with_messages(tables), *sorted(tables)]
    return [
        TourStep(title, hint, _address(page, kind, ordered), step in done)
        for step, (title, hint, kind, page) in _WORDS.items()
    ]


def _address(page: str, kind: str, tables: Sequence[str]) -> str:
    if not kind:
        return reverse(f"console:{page}")
    table = next((name for name in tables if name.endswith(f"_{kind}")), "")
    return reverse(f"console:{page}", args=[table]) if table else ""
