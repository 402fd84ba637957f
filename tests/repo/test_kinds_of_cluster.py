"""Which kind a cluster is, is known to its engine, the mirror and the wiring; all others ask what its engine offers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
#: Where the kind may be read.
KNOW_IT: Final = (
    "segments/clusters/",
    "segments/domain/pinot/",
    "segments/gateways/pinot/",
    "segments/store/on_pinot/",
    "segments/mirror/",
    "segments/models/",
    "segments/migrations/",
    "segments/wiring.py",
)
#: A context's Pinot, a row's kind, the type of an engine, or its name.
QUESTION: Final = re.compile(
    r"\bctx\.pinot\b|\.is_pinot\b|\bPinotEngine\b|engine\.kind\b|\.kind\s*[!=]=\s*(?:Cluster\.|[\"'](?:pinot|embedded))"
)
OF_PAGES: Final = re.compile(r"\bis_pinot\b|\brow\.kind\b|\bcluster\.kind\b")


def questions() -> list[str]:
    """``path:line`` of every question for the kind outside of the places that may know it."""
    found = []
    for path in sorted((ROOT / "segments").rglob("*.py")):
        home = str(path.relative_to(ROOT))
        if not home.startswith(KNOW_IT):
            lines = enumerate(path.read_text().splitlines(), 1)
            found += [f"{home}:{number}" for number, line in lines if QUESTION.search(line)]
    for path in sorted((ROOT / "templates").rglob("*.html")):
        lines = enumerate(path.read_text().splitlines(), 1)
        found += [f"{path.relative_to(ROOT)}:{number}" for number, line in lines if OF_PAGES.search(line)]
    return found


def test_nobody_else_asks_which_kind_a_cluster_is() -> None:
    assert questions() == []


def test_the_search_finds_such_questions() -> None:
    for line in (
        "if ctx.pinot is not None:",
        "row.is_pinot",
        "row.kind == Cluster.Kind.PINOT",
        'ctx.engine.kind == "pinot"',
    ):
        assert QUESTION.search(line), line
    assert not QUESTION.search("if ctx.engine.offers.minion_tasks:")
