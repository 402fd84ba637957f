"""``docs/api.md`` lists every REST path, and names none that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.api.routes import METHODS, OF_A_CLUSTER, OF_THE_INSTALLATION, Route, of_a_cluster

_DOCUMENT = Path(__file__).parents[2] / "docs" / "api.md"
_HEADING = "## Every path\n"
_NAME = re.compile(r"<\w+:(\w+)>|\{(\w+)\}")
_NAMED = re.compile(rf"`((?:(?:{'|'.join(METHODS)})[/ ])+)(/[^`? ]*)")


def the_list() -> str:
    """As it is to stand in the document."""
    subjects = {**OF_A_CLUSTER, "The installation": OF_THE_INSTALLATION}
    return "\n".join(line for subject, routes in subjects.items() for line in (f"# {subject}", *_lines(routes)))


def _lines(routes: tuple[Route, ...]) -> Iterator[str]:
    for route in routes:
        path = _NAME.sub(r"{\1}", route.path)
        yield f"{' '.join(route.methods):<15} /{path}"


def test_the_list_of_paths_is_that_of_the_table_of_routes() -> None:
    _, _, rest = _DOCUMENT.read_text().partition(_HEADING)
    listed = rest.partition("```\n")[2].partition("\n```")[0]
    assert listed == the_list(), f"put this under '{_HEADING.strip()}':\n\n{the_list()}"


KNOWN = {_NAME.sub("{}", f"/{r.path}"): set(r.methods) for r in (*of_a_cluster(), *OF_THE_INSTALLATION)}
NAMED = [(found[1], found[2]) for found in _NAMED.finditer(_DOCUMENT.read_text().partition("## Additions")[2])]


@pytest.mark.parametrize(("methods", "path"), NAMED, ids=[f"{m}{p}" for m, p in NAMED])
def test_what_is_described_among_the_additions_is_there(methods: str, path: str) -> None:
    assert set(re.split("[/ ]", methods.strip(" /"))) <= KNOWN[_NAME.sub("{}", path)]
