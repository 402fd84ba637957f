"""YAML that others send, read within bounds: how long, how deep and how many nodes it has once its aliases are written
out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import yaml

from segments.errors import InvalidInput

MAX_CHARS: Final = 200_000
MAX_DEPTH: Final = 50
#: Scalars, maps and lists, and characters of scalars, each counted wherever an alias repeats it.
MAX_NODES: Final = 20_000
MAX_WRITTEN_CHARS: Final = 1_000_000
MAX_KEY_LENGTH: Final = 200
MAX_NUMBER_LENGTH: Final = 100
_TAG: Final = "tag:yaml.org,2002:"
_TAGS: Final = frozenset(
    _TAG + kind for kind in ("map", "seq", "str", "int", "float", "bool", "null", "merge", "value")
)
#: libyaml reads in C, but calls itself for every level, so that depth has to be checked first.
_FASTEST: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_FASTEST):  # type: ignore[misc]
    """Knows the values that JSON knows, too: a date stays a text."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, pattern) for tag, pattern in known if tag in _TAGS]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def parse_yaml(text: str, *, what: str = "The text") -> tuple[Any, dict[str, int]]:
    """The values of one YAML document and ``{"a.b[0].c": line}`` of its keys, lines from 1.

    ``what`` begins the sentence that says what is wrong. Raises InvalidInput.
    """
    if len(text) > MAX_CHARS:
        raise InvalidInput(f"{what} has {len(text)} characters; at most {MAX_CHARS} are allowed.")
    try:
        _check_size(text, what)
        loader = _Loader(text)
        node = loader.get_single_node()
        lines = _lines(node, what)
        return (loader.construct_document(node) if node is not None else None), lines
    except yaml.YAMLError as error:
        raise InvalidInput(f"{what} is not valid YAML: {' '.join(str(error).split())[:400]}.") from error
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OverflowError,
    ) as error:  # what PyYAML makes of odd dates, numbers and tags
        raise InvalidInput(
            f"{what} holds a value that cannot be read: {str(error)[:200]}.", remedy="Put it into quotes."
        ) from error


@dataclass
class _Size:
    """Of a node with all that is below it."""

    nodes: int = 1
    chars: int = 0
    height: int = 0


def _check_size(text: str, what: str) -> None:
    """Raises InvalidInput for a document that is too deep or too large with its aliases written out; reads it once, as
    a row of events.
    """
    anchors: dict[str, _Size] = {}
    open_: list[tuple[str | None, _Size]] = [(None, _Size())]
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise InvalidInput(f"{what} uses *{event.anchor} where no &{event.anchor} has ended before.")
            _add(open_, anchors[event.anchor], what)
        elif isinstance(event, yaml.ScalarEvent):
            if "\x00" in event.value:
                raise InvalidInput(
                    f"{what} has a text with the character U+0000, which no name and no database can hold."
                )
            size = _Size(chars=len(event.value))
            if event.anchor:
                anchors[event.anchor] = size
            _add(open_, size, what)
        elif isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, _Size()))
            if len(open_) - 1 > MAX_DEPTH:
                raise _too_deep(what)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size = open_.pop()
            if anchor:
                anchors[anchor] = size
            _add(open_, size, what)


def _add(open_: list[tuple[str | None, _Size]], size: _Size, what: str) -> None:
    outer = open_[-1][1]
    outer.nodes += size.nodes
    outer.chars += size.chars
    outer.height = max(outer.height, size.height + 1)
    if outer.nodes > MAX_NODES or outer.chars > MAX_WRITTEN_CHARS:
        raise InvalidInput(
            f"{what} is too large with its aliases written out: at most {MAX_NODES} values with "
            f"{MAX_WRITTEN_CHARS} characters are allowed."
        )
    if len(open_) - 1 + size.height > MAX_DEPTH:
        raise _too_deep(what)


def _too_deep(what: str) -> InvalidInput:
    return InvalidInput(
        f"{what} is nested too deeply: at most {MAX_DEPTH} maps and lists within one another are allowed."
    )


def _lines(node: Any, what: str) -> dict[str, int]:
    lines: dict[str, int] = {}
    chars = 0
    for path, line in _walk(node, "", what):
        if path in lines:
            raise InvalidInput(f"'{path}' is there twice in {what[0].lower()}{what[1:]} (line {line}).")
        chars += len(path)
        if chars > MAX_WRITTEN_CHARS:
            raise InvalidInput(f"{what} has too many keys.")
        lines[path] = line
    return lines


def _walk(node: Any, path: str, what: str) -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise InvalidInput(
                    f"{what} has a list or map for a key (line {key.start_mark.line + 1}).", remedy="Use a word."
                )
            if len(key.value) > MAX_KEY_LENGTH:
                raise InvalidInput(
                    f"{what} has a key of {len(key.value)} characters; at most {MAX_KEY_LENGTH} are allowed."
                )
            below = f"{path}.{key.value}" if path else str(key.value)
            yield below, key.start_mark.line + 1
            yield from _walk(key, below, what)
            yield from _walk(value, below, what)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield from _walk(value, f"{path}[{index}]", what)
    elif isinstance(node, yaml.ScalarNode) and node.tag in (_TAG + "int", _TAG + "float"):
        _check_number(node, what)
    if node is not None and node.tag not in _TAGS:
        kind = node.tag.removeprefix(_TAG)[:60]
        raise InvalidInput(
            f"{what} has a value of the type '{kind}' (line {node.start_mark.line + 1}).",
            remedy="Use the types of JSON.",
        )


def _check_number(node: Any, what: str) -> None:
    line = node.start_mark.line + 1
    if len(node.value) > MAX_NUMBER_LENGTH:
        raise InvalidInput(
            f"{what} has a number of {len(node.value)} characters (line {line}).", remedy="Put a text into quotes."
        )
    if node.value.lower().lstrip("+-") in (".inf", ".nan"):
        raise InvalidInput(f"{what} has {node.value} for a number (line {line}).", remedy="Put a text into quotes.")
