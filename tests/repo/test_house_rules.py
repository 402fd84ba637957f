"""Rules about the repository itself: sizes, names, documents that name what exists."""

from __future__ import annotations

import ast
import gc
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = sorted(
    p
    for folder in ("segments", "pinotadmin", "pinotadmin_client", "tests", "bench", "examples")
    for p in (ROOT / folder).rglob("*.py")
    if "migrations" not in p.parts
)
OURS = [p for p in CODE if p.parts[len(ROOT.parts)] in ("segments", "pinotadmin")]


@cache
def tree(path: Path) -> ast.Module:
    """The file, parsed once for all rules; the garbage collector would walk through all trees again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text())
    finally:
        if was_enabled:
            gc.enable()


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_file_is_longer_than_400_lines() -> None:
    assert [name(p) for p in CODE if len(p.read_text().splitlines()) > 400] == []


def test_no_function_is_longer_than_40_lines() -> None:
    long = []
    for path in CODE:
        for node in ast.walk(tree(path)):
            if (
                isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and (node.end_lineno or 0) - node.lineno + 1 > 40
            ):
                long.append(f"{name(path)}:{node.lineno} {node.name}")
    assert long == []


def test_no_folder_holds_more_than_15_modules() -> None:
    """Besides ``__init__``; migrations are numbered, so they are found all the same."""
    modules = Counter(p.parent for p in CODE if p.name != "__init__.py")
    assert {name(folder): n for folder, n in modules.items() if n > 15} == {}


def test_no_file_has_a_name_that_says_nothing() -> None:
    assert [name(p) for p in CODE if re.fullmatch(r"(utils?|helpers?|common|misc|manager)\.py", p.name)] == []


def test_every_module_says_why_it_exists() -> None:
    assert [name(p) for p in OURS if p.read_text().strip() and not ast.get_docstring(tree(p))] == []


def test_every_public_function_and_class_has_a_docstring() -> None:
    bare = []
    for path in OURS:
        for node in tree(path).body:
            public = isinstance(
                node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef
            ) and not node.name.startswith("_")
            if public and not ast.get_docstring(node):  # type: ignore[arg-type]  # narrowed by ``public``
                bare.append(f"{name(path)}:{node.lineno} {node.name}")  # type: ignore[attr-defined]  # as above
    assert bare == []


def test_tests_never_wait_by_a_bare_sleep() -> None:
    """A sleep stands only inside a loop that checks for something until a deadline."""
    bare = []
    for path in (p for p in CODE if "tests" in p.parts):
        for loop_free in _sleeps_outside_loops(tree(path)):
            bare.append(f"{name(path)}:{loop_free}")
    assert bare == []


def _sleeps_outside_loops(top: ast.AST, *, in_loop: bool = False) -> list[int]:
    found: list[int] = []
    for node in ast.iter_child_nodes(top):
        if isinstance(node, ast.Call) and not in_loop and _is_sleep(node.func):
            found.append(node.lineno)
        inside = in_loop or isinstance(node, ast.While | ast.For)
        found += _sleeps_outside_loops(node, in_loop=inside)
    return found


def _is_sleep(function: ast.expr) -> bool:
    return isinstance(function, ast.Name | ast.Attribute) and ast.unparse(function) in ("time.sleep", "sleep")


@pytest.mark.parametrize(
    "document",
    ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
    + [f"docs/{d}.md" for d in ("architecture", "api", "operations", "segment-files", "pinot-clusters")],
)
def test_documents_name_only_files_that_exist(document: str) -> None:
    text = (ROOT / document).read_text()
    named = set(re.findall(r"`((?:segments|pinotadmin|tests|templates|docs|bench)/[\w./-]*)`", text)) | set(
        re.findall(r"\]\(([\w./-]+)\)", text)
    )
    base = (ROOT / document).parent
    assert [n for n in sorted(named) if "…" not in n and not (ROOT / n).exists() and not (base / n).exists()] == []


def test_every_management_command_stands_in_the_documents_or_the_makefile() -> None:
    text = "".join(
        (ROOT / f).read_text() for f in ("README.md", "docs/operations.md", "docs/architecture.md", "Makefile")
    )
    own = {p.stem for p in (ROOT / "segments/management/commands").glob("*.py")} - {"__init__"}
    inner = {c for c in own if c.startswith("run_")} | {"setup_database"}  # started by ``up`` only
    assert [c for c in sorted(own - inner) if not re.search(rf"\b{c}\b", text)] == []


#: Documents whose wide tables compare columns, or are checked row by row by tests.
WIDE_TABLES = ("docs/figures.md", "docs/operations.md", "docs/pinot-clusters.md")


def test_no_line_of_a_document_is_longer_than_120_characters() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    assert len(documents) > 10
    long = []
    for path in documents:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if len(line) > 120 and not (name(path) in WIDE_TABLES and line.startswith("|")):
                long.append(f"{name(path)}:{number}")
    assert long == []
