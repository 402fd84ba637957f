"""Finds every regular expression of the code, and what makes one slow: repetition within or beside one of the same
characters.
"""

from __future__ import annotations

import ast
import importlib
import re
import re._constants as codes
import re._parser as parser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
_METHODS = frozenset({"compile", "match", "fullmatch", "search", "sub", "subn", "split", "finditer", "findall"})
#: Characters that stand for all others.
SAMPLE = [chr(c) for c in range(128)] + ["\x85", "\xa0", "é", "²", "٣", "\u2028", "\U0001f600"]
#: Repetition up to here is not repetition: it cannot make a long text slow.
_SHORT = 200


@dataclass(frozen=True)
class Found:
    """A pattern: where, its text, and the methods it is used with."""

    place: str
    compiled: re.Pattern[Any]
    methods: frozenset[str]

    @property
    def text(self) -> str:
        """As a str also when it is of bytes."""
        text = self.compiled.pattern
        return text if isinstance(text, str) else text.decode("latin-1")


def all_patterns() -> tuple[list[Found], list[str]]:
    """Every pattern, and places where one is made of what is known only at run time."""
    found: list[Found] = []
    unknown: list[str] = []
    for folder in ("segments", "pinotadmin"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "re." in (text := path.read_text()):
                for place, made in _of_file(path, ast.parse(text)):
                    if isinstance(made, Found):
                        found.append(made)
                    else:
                        unknown.append(place)
    return found, unknown


def _of_file(path: Path, tree: ast.Module) -> Iterator[tuple[str, Found | None]]:
    name = str(path.relative_to(ROOT))
    named: dict[str, ast.Call] = {}
    for node in tree.body:
        target = (
            node.targets[0]
            if isinstance(node, ast.Assign)
            else node.target
            if isinstance(node, ast.AnnAssign)
            else None
        )
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.Call) and _method(value) == "compile":
            named[target.id] = value
    used: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            used.setdefault(node.func.value.id, set()).add(node.func.attr)
    for variable, call in named.items():
        module = importlib.import_module(name.removesuffix(".py").replace("/", "."))
        methods = frozenset(used.get(variable, set()) & _METHODS) or _METHODS - {"compile"}
        yield f"{name}:{call.lineno}", Found(f"{name} {variable}", getattr(module, variable), methods)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (method := _method(node)) and node not in named.values():
            place = f"{name}:{node.lineno}"
            argument = node.args[0] if node.args else None
            if isinstance(argument, ast.Constant):
                flags = (
                    ast.unparse(node.args[2])
                    if method in ("match", "fullmatch", "search") and len(node.args) > 2
                    else "0"
                )
                value = eval(flags, {"re": re})  # our own code
                yield place, Found(f"{name} {argument.value}", re.compile(argument.value, value), frozenset({method}))
            else:
                yield f"{name} {ast.unparse(argument) if argument else ''}", None


def _method(call: ast.Call) -> str | None:
    is_re = (
        isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == "re"
    )
    return call.func.attr if is_re and isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS else None


def faults(pattern: re.Pattern[Any]) -> list[str]:
    """What could make matching slower than linear."""
    return list(_faults(parser.parse(pattern.pattern, pattern.flags), pattern.flags, False))


def _faults(items: Any, flags: int, is_repeated: bool) -> Iterator[str]:
    open_: set[str] = set()  # what repetitions right before could have taken, too
    for code, argument in items:
        if _is_long(code, argument) and is_repeated:
            yield "repetition within repetition"
        inside = is_repeated or (_is_long(code, argument) and not _begins_with_a_mark(argument[2], flags))
        for branch in _inner(code, argument):
            yield from _faults(branch, flags, inside)
        item = [(code, argument)]
        if beside := _edge(item, flags) & open_:
            yield f"repetition beside repetition of {sorted(beside)[:3]}"
        if code is not codes.AT:
            last = _edge(item, flags, from_end=True)
            open_ = open_ | last if _nullable(code, argument) else last


def _begins_with_a_mark(items: Any, flags: int) -> bool:
    """Does each round begin with a character that nothing else in it takes? Then there is one way to divide a text into
    rounds.
    """
    first, *rest = list(items)
    if first[0] is codes.SUBPATTERN and not rest:
        return _begins_with_a_mark(first[1][3], flags)
    if first[0] not in (codes.LITERAL, codes.IN) or not rest:
        return False
    return not _chars(*first, flags) & {c for item in rest for c in _chars(*item, flags)}


def _edge(items: Any, flags: int, *, from_end: bool = False) -> set[str]:
    """What repetitions at the beginning (or end) take, before anything that must be there."""
    found: set[str] = set()
    for code, argument in reversed(list(items)) if from_end else items:
        if _is_long(code, argument) and (from_end or not _begins_with_a_mark(argument[2], flags)):
            found |= _chars(code, argument, flags)
        for branch in _inner(code, argument):
            found |= _edge(branch, flags, from_end=from_end)
        if not _nullable(code, argument) and code is not codes.AT:
            break
    return found


def _is_long(code: Any, argument: Any) -> bool:
    return code in (codes.MAX_REPEAT, codes.MIN_REPEAT) and (argument[1] is codes.MAXREPEAT or argument[1] > _SHORT)


def _inner(code: Any, argument: Any) -> Iterator[Any]:
    if code is codes.SUBPATTERN:
        yield argument[3]
    elif code is codes.BRANCH:
        yield from argument[1]
    elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        yield argument[2]
    elif code in (codes.ASSERT, codes.ASSERT_NOT):
        yield argument[1]


def _nullable(code: Any, argument: Any) -> bool:
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return argument[0] == 0 or all(_nullable(*i) for i in argument[2])
    if code is codes.SUBPATTERN:
        return all(_nullable(*i) for i in argument[3])
    if code is codes.BRANCH:
        return any(all(_nullable(*i) for i in branch) for branch in argument[1])
    return code in (codes.ASSERT, codes.ASSERT_NOT, codes.GROUPREF)


def _chars(code: Any, argument: Any, flags: int) -> set[str]:
    """Which characters of the sample it may take anywhere."""
    inner = list(_inner(code, argument))
    if inner:
        return {c for branch in inner for item in branch for c in _chars(*item, flags)}
    if code in (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY):
        return {c for c in SAMPLE if _takes(code, argument, c, flags)}
    return set(SAMPLE) if code is codes.GROUPREF else set()


def _takes(code: Any, argument: Any, char: str, flags: int) -> bool:
    if code is codes.ANY:
        return bool(flags & re.DOTALL) or char != "\n"
    if code in (codes.LITERAL, codes.NOT_LITERAL):
        alike = {char, char.lower(), char.upper()} if flags & re.IGNORECASE else {char}
        return (chr(argument) in alike) == (code is codes.LITERAL)
    is_negated = bool(argument) and argument[0][0] is codes.NEGATE
    return (
        any(_in_class(kind, value, char, flags) for kind, value in argument if kind is not codes.NEGATE) != is_negated
    )


def _in_class(kind: Any, value: Any, char: str, flags: int) -> bool:
    if kind is codes.LITERAL:
        return _takes(codes.LITERAL, value, char, flags)
    if kind is codes.RANGE:
        alike = {char, char.lower(), char.upper()} if flags & re.IGNORECASE else {char}
        return any(len(c) == 1 and value[0] <= ord(c) <= value[1] for c in alike)
    letter = {
        codes.CATEGORY_DIGIT: r"\d",
        codes.CATEGORY_NOT_DIGIT: r"\D",
        codes.CATEGORY_SPACE: r"\s",
        codes.CATEGORY_NOT_SPACE: r"\S",
        codes.CATEGORY_WORD: r"\w",
        codes.CATEGORY_NOT_WORD: r"\W",
    }[value]
    return re.match(letter, char, flags & re.ASCII) is not None


def representatives(pattern: re.Pattern[Any]) -> list[str]:
    """One character of each set of characters that a part of the pattern takes, and one that none takes."""
    sets: list[frozenset[str]] = []

    def walk(items: Any) -> None:
        for code, argument in items:
            for branch in _inner(code, argument):
                walk(branch)
            if code in (codes.LITERAL, codes.IN, codes.ANY, codes.NOT_LITERAL):
                sets.append(frozenset(_chars(code, argument, pattern.flags)))

    walk(parser.parse(pattern.pattern, pattern.flags))
    kinds: dict[tuple[bool, ...], str] = {}
    for char in SAMPLE:
        kinds.setdefault(tuple(char in s for s in sets), char)
    return list(kinds.values())
