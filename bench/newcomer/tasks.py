"""The tasks of docs/newcomer.md, step by step: what is pressed, typed and read, in the words of the pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.newcomer.person import Person
from bench.newcomer.tally import Aim

#: What the tables hold before the tasks begin (``preparation``).
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday")
COLLEAGUE = "ann"
HER_REASON = "the second file was cut off"
CITIES = ("Lisbon", "Oslo", "Quito")

_RESTORE = re.compile(r"^Restore snapshot \d+$")
_SEEN_AGAIN = re.compile(r"Queries on orders_OFFLINE see snapshot \d+ again")


@dataclass(frozen=True)
class Task:
    """Begins on the start page. ``do`` gets a person and their own file."""

    name: str
    aim: Aim
    do: Callable[[Person, Path], None]


def _own_csv(person: Person, file: Path) -> None:
    person.click("New table")
    person.drop("Drop it here, or choose it.", file)
    person.click("Continue")
    person.click("Create and push")
    person.click("Query it")
    person.click("Run")
    person.read(re.compile(f"^({'|'.join(CITIES)})$"))


def _find_who(person: Person, _: Path) -> None:
    person.click("visits_OFFLINE")
    person.click("History")
    person.read(f"Rolled back by {COLLEAGUE}: “{HER_REASON}”")


def _three_back(person: Person, _: Path) -> None:
    person.click("orders_OFFLINE")
    person.click("History")
    person.click("Go back to this…", near=f"{DAYS[0]}'s file")
    person.fill("Reason", "three bad files")
    person.click(_RESTORE)
    person.read(_SEEN_AGAIN)


def _undo(person: Person, _: Path) -> None:
    person.click("orders_OFFLINE")
    person.click("History")
    person.click("Undo…")
    person.fill("Reason", "they were right")
    person.click(_RESTORE)
    person.read(_SEEN_AGAIN)


def _pause(person: Person, _: Path) -> None:
    person.click("clicks_REALTIME")
    person.click("Consumption")
    person.click("Pause…")
    person.fill("Reason", "the producer is being repaired")
    person.click("Pause")
    person.read("Nothing is consuming; new rows wait in the stream.")


def _replay(person: Person, _: Path) -> None:
    person.click("trips_REALTIME")
    person.click("Consumption")
    person.click("See and replay them")
    person.click("Replay all 1…")
    person.fill("Reason", "the table takes it now")
    person.click("Replay 1 message")
    person.read("A new segment holds 1 row")


TASKS = (
    Task("Own CSV of 100,000 rows to the first query", Aim(machine_s=8, whole_s=60), _own_csv),
    Task("Find who rolled back, and why", Aim(), _find_who),
    Task("Go back three steps", Aim(clicks=4, fields=1), _three_back),
    Task("Undo that", Aim(clicks=4, fields=1), _undo),
    Task("Pause a stream with a reason", Aim(), _pause),
    Task("Replay a bad message", Aim(), _replay),
)
