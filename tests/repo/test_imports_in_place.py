"""What the code may reach for: services get their clock from outside, and a late import says why it is late."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.repo.test_house_rules import OURS, ROOT, name, tree

SERVICES = [p for p in OURS if p.is_relative_to(ROOT / "segments/services")]
Import = ast.Import | ast.ImportFrom


def test_services_read_no_clock_of_their_own() -> None:
    """Deadlines and pauses go through ``ctx.timer``, dates through ``ctx.clock``: a test can let time pass at once."""
    assert [f"{name(p)}:{line}" for p in SERVICES for line in uses_of_time(tree(p))] == []


def test_a_clock_is_found_however_it_is_imported() -> None:
    for text in ("import time", "from time import sleep", "import time as t", "def f():\n    import time"):
        assert uses_of_time(ast.parse(text)), text
    assert not uses_of_time(ast.parse("from datetime import time\nctx.timer.pause(1)"))


def uses_of_time(top: ast.Module) -> list[int]:
    """Lines that import the module ``time`` or something of it."""
    return [
        node.lineno
        for node in ast.walk(top)
        if (isinstance(node, ast.Import) and any(found.name == "time" for found in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "time")
    ]


def test_an_import_inside_a_function_says_why_it_is_there() -> None:
    ours = [p for p in OURS if p.is_relative_to(ROOT / "segments")]
    assert [f"{name(p)}:{line}" for p in ours for line in unexplained(p)] == []


def test_an_unexplained_import_is_found(tmp_path: Path) -> None:
    path = tmp_path / "late.py"
    path.write_text("def f():\n    import a\n\n\ndef g():\n    # heavy\n    import a\n    import b\n")
    assert unexplained(path) == [2]


def unexplained(path: Path) -> list[int]:
    """First lines of runs of imports inside functions that have no comment in them or right above."""
    lines = path.read_text().splitlines()
    return [
        run[0].lineno for run in _runs(tree(path)) if "#" not in "".join(lines[run[0].lineno - 2 : run[-1].end_lineno])
    ]


def _runs(top: ast.Module) -> Iterator[list[Import]]:
    """Imports inside functions, those that stand together as one."""
    functions = (node for node in ast.walk(top) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    found = {node.lineno: node for f in functions for node in ast.walk(f) if isinstance(node, Import)}
    run: list[Import] = []
    for _, node in sorted(found.items()):
        if run and node.lineno > (run[-1].end_lineno or 0) + 1:
            yield run
            run = []
        run.append(node)
    if run:
        yield run
