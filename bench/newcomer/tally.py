"""What a task costs: clicks and fields as a person makes them, seconds as the machine takes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: What a person is given, seconds: to read and to find the next click; to think of a text and to type it.
CLICK_S = 3.0
FIELD_S = 8.0

HEAD = ("task", "clicks", "fields", "machine, s", "in all, s", "aim")


@dataclass
class Tally:
    """Counts up while a task is done. ``machine_s``: from each click until what comes next is there."""

    clicks: int = 0
    fields: int = 0
    machine_s: float = 0.0
    _clicked_at: float | None = None

    def click(self, now_s: float) -> None:
        """Something was pressed, ticked or dropped; from now on the person waits."""
        self.see(now_s)
        self.clicks += 1
        self._clicked_at = now_s

    def fill(self, now_s: float) -> None:
        """A field was filled; nobody waits for anything."""
        self.see(now_s)
        self.fields += 1

    def see(self, now_s: float) -> None:
        """What the person was waiting for is there; nothing where nobody waits."""
        if self._clicked_at is not None:
            self.machine_s += now_s - self._clicked_at
            self._clicked_at = None

    @property
    def is_waiting(self) -> bool:
        """Has nothing been seen since the last click? Then its time is missing."""
        return self._clicked_at is not None

    @property
    def whole_s(self) -> float:
        """The machine's time together with what a person is given."""
        return self.machine_s + self.clicks * CLICK_S + self.fields * FIELD_S


@dataclass(frozen=True)
class Aim:
    """At most so much; None: no bound."""

    clicks: int | None = None
    fields: int | None = None
    machine_s: float | None = None
    whole_s: float | None = None

    def is_missed(self, tally: Tally) -> bool:
        """Was any bound passed?"""
        pairs = (
            (tally.clicks, self.clicks),
            (tally.fields, self.fields),
            (tally.machine_s, self.machine_s),
            (tally.whole_s, self.whole_s),
        )
        return any(bound is not None and value > bound for value, bound in pairs)

    def __str__(self) -> str:
        parts = (
            (self.clicks, "click"),
            (self.fields, "field"),
            (self.machine_s, "s of the machine"),
            (self.whole_s, "s in all"),
        )
        return ", ".join(_bound(value, what) for value, what in parts if value is not None) or "-"


def _bound(value: float, what: str) -> str:
    plural = "s" if value != 1 and not what.startswith("s ") else ""
    return f"{value:g} {what}{plural}"


def line(name: str, tally: Tally, aim: Aim) -> tuple[str, ...]:
    """A row of the table."""
    missed = " (missed)" if aim.is_missed(tally) else ""
    return (
        name, str(tally.clicks), str(tally.fields), f"{tally.machine_s:.1f}", f"{tally.whole_s:.0f}", f"{aim}{missed}",
    )  # fmt: skip


def table(lines: Iterable[Sequence[str]]) -> str:
    """As Markdown, for the terminal and for the document."""
    rule = "|" + "---|" * len(HEAD)
    return "\n".join([_row(HEAD), rule, *map(_row, lines)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
