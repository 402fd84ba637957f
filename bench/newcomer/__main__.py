"""Counts what a newcomer needs for the tasks of docs/newcomer.md: clicks, fields, and seconds of the machine apart from
what a person is given (3 s for a click, 8 s for a field).

Usage: ``python -m bench.newcomer [--only WORDS] [--pictures FOLDER]``. Starts an installation of its own, prepares it,
and does every task in Chromium, by what a person sees alone. Exits with 1 when a task cannot be done, with what was
missing and a screenshot, or when an aim is missed. ``--pictures`` keeps a screenshot of every step, which makes it
slower.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Error

from bench.newcomer import preparation
from bench.newcomer.person import Missing, Person
from bench.newcomer.tally import Tally, line, table
from bench.newcomer.tasks import TASKS, Task
from tests.browser import chromium
from tests.integration.running import Installation, administrator

_WINDOW = {"width": 1360, "height": 900}


def main() -> int:
    """Start, prepare, do, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    parser.add_argument("--pictures", type=Path, help="a screenshot of every step goes there")
    given = parser.parse_args()
    if not chromium.installed():
        print(f"No Chromium is installed: looked for {', '.join(chromium.NAMES)}.", file=sys.stderr)
        return 75
    with tempfile.TemporaryDirectory(prefix="newcomer-") as folder:
        installation = Installation(Path(folder) / "data").start(240)
        try:
            preparation.prepare(installation)
            file = preparation.own_file(Path(folder))
            done = _do_all([t for t in TASKS if given.only in t.name], installation, file, given.pictures)
        finally:
            installation.stop()
    print(table(line(task.name, tally, task.aim) for task, tally in done if tally))
    return int(any(tally is None or task.aim.is_missed(tally) for task, tally in done))


def _do_all(
    tasks: list[Task], installation: Installation, file: Path, pictures: Path | None
) -> list[tuple[Task, Tally | None]]:
    """The tallies; None where a task could not be done."""
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    with chromium.running() as browser:
        context = browser.new_context(base_url=installation.endpoints["controller"], viewport=_WINDOW)
        page = context.new_page()
        chromium.log_in(page, *administrator(installation.endpoints))
        person = Person(page, pictures)
        return [(task, _do(task, person, file, pictures)) for task in tasks]


def _do(task: Task, person: Person, file: Path, pictures: Path | None) -> Tally | None:
    tally = person.begin(task.name)
    try:
        task.do(person, file)
        person.end()
    except (Missing, Error) as error:
        picture = person.picture_of_failure(pictures or Path(tempfile.mkdtemp(prefix="newcomer-")))
        print(f"{task.name}: cannot be done. Missing: {error}\n  the page: {picture}", flush=True)
        return None
    return tally


if __name__ == "__main__":
    sys.exit(main())
