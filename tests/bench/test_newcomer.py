"""The newcomer's protocol counts what a person does, and its document names the tasks that the script does."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Error

from bench.newcomer import tasks
from bench.newcomer.person import Missing, Person
from bench.newcomer.tally import CLICK_S, FIELD_S, HEAD, Aim, Tally, line, table
from bench.newcomer.tasks import TASKS

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "newcomer.md").read_text()


def rows() -> list[list[str]]:
    """The document's table, without its head."""
    found = [[c.strip() for c in text.strip("|").split("|")] for text in DOCUMENT.splitlines() if text.startswith("|")]
    assert tuple(found[0]) == HEAD
    return found[2:]


def test_the_machine_has_the_time_from_a_click_until_what_comes_next_is_there() -> None:
    tally = Tally()
    tally.click(10.0)
    assert tally.is_waiting
    tally.see(12.5)
    tally.see(60.0)
    assert (tally.machine_s, tally.is_waiting) == (2.5, False), "looking on, nobody waits"
    tally.click(70.0)
    tally.click(71.0)
    tally.see(75.0)
    assert (tally.clicks, tally.machine_s) == (3, 2.5 + 1.0 + 4.0), "no second is counted twice, none is lost"


def test_typing_is_the_persons_time() -> None:
    tally = Tally()
    tally.click(0.0)
    tally.fill(2.0)
    tally.see(99.0)
    assert (tally.clicks, tally.fields, tally.machine_s) == (1, 1, 2.0)
    assert tally.whole_s == 2.0 + CLICK_S + FIELD_S


@pytest.mark.parametrize(
    ("aim", "is_missed"),
    [
        (Aim(), False),
        (Aim(clicks=4, fields=1), False),
        (Aim(clicks=3), True),
        (Aim(fields=0), True),
        (Aim(machine_s=1.9), True),
        (Aim(machine_s=2.0, whole_s=2.0 + 4 * CLICK_S + FIELD_S), False),
        (Aim(whole_s=2.0), True),
    ],
)
def test_an_aim_is_missed_when_any_of_its_bounds_is_passed(aim: Aim, is_missed: bool) -> None:
    assert aim.is_missed(Tally(clicks=4, fields=1, machine_s=2.0)) is is_missed


def test_a_missed_aim_is_printed_as_missed() -> None:
    late = line("Undo that", Tally(clicks=5, fields=1, machine_s=2.0), Aim(clicks=4, fields=1))
    assert late == ("Undo that", "5", "1", "2.0", "25", "4 clicks, 1 field (missed)")
    assert table([late]).splitlines()[2] == "| Undo that | 5 | 1 | 2.0 | 25 | 4 clicks, 1 field (missed) |"


def test_a_task_that_ends_before_its_last_click_was_answered_is_not_done() -> None:
    person = Person(None)  # type: ignore[arg-type]  # no page is needed to end
    person.end()
    person._tally.click(1.0)
    with pytest.raises(Missing, match="before it is read"):
        person.end()


class Shown:
    """So many things of one name, as a page finds them."""

    def __init__(self, count: int) -> None:
        self._count, self.first = count, self

    def or_(self, other: Shown) -> Shown:
        return Shown(self._count + other._count)

    def filter(self, *, visible: bool) -> Shown:
        assert visible, "what is hidden is not found"
        return self

    def wait_for(self, *, timeout: float) -> None:
        if not self._count:
            raise Error(f"nothing within {timeout} ms")

    def count(self) -> int:
        return self._count

    def click(self) -> None:
        """Pressed."""


@pytest.mark.parametrize(
    ("links", "buttons", "missing"), [(1, 1, "2 are"), (0, 0, "“Pause”, within 60 s"), (0, 1, ""), (1, 0, "")]
)
def test_only_the_one_thing_of_a_name_is_pressed(links: int, buttons: int, missing: str) -> None:
    def by_role(role: str, *, name: str, exact: bool) -> Shown:
        assert (name, exact) == ("Pause", True)
        return Shown({"link": links, "button": buttons}[role])

    person = Person(SimpleNamespace(get_by_role=by_role, wait_for_load_state=lambda _: None))  # type: ignore[arg-type]
    if missing:
        with pytest.raises(Missing, match=missing):
            person.click("Pause")
    else:
        person.click("Pause")
    assert person._tally.clicks == (0 if missing else 1)


def test_tasks_reach_the_page_only_through_what_a_person_does() -> None:
    source = Path(tasks.__file__).read_text()
    assert not re.search(r"playwright|requests|http|goto|locator|/console|/api|#\w", re.sub(r"#: .*", "", source))
    calls = [n.func for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)]
    done = {f.attr for f in calls if isinstance(f, ast.Attribute) and ast.unparse(f.value) == "person"}
    assert done == {"click", "drop", "fill", "read"}
    assert not any(name.startswith("_") for name in done)


def test_the_documents_table_has_the_scripts_tasks_and_aims() -> None:
    assert [(r[0], r[-1].removesuffix(" (missed)")) for r in rows()] == [(t.name, str(t.aim)) for t in TASKS]


def test_the_document_says_of_every_task_what_a_person_does() -> None:
    assert re.findall(r"^## \d+\. (.*)$", DOCUMENT, re.MULTILINE) == [t.name for t in TASKS]


def test_the_documents_seconds_are_those_of_its_clicks_and_fields() -> None:
    for name, clicks, fields, machine, whole, _ in rows():
        tally = Tally(clicks=int(clicks), fields=int(fields), machine_s=float(machine))
        assert abs(tally.whole_s - float(whole)) <= 0.6, name
