"""Reads and writes the text of ``metadata.properties`` and ``index_map``, byte for byte as Pinot's properties library
does.

Takes time in proportion to the text, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from segments.errors import SegmentCorrupt

Value = str | list[str]

#: Longer texts are not stored as min or max.
MAX_STORED_TEXT: Final = 512

_WRITE: Final = {"\\": "\\\\", ",": "\\,", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f", "\b": "\\b"}
_READ: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "b": "\b"}
_SPECIAL = re.compile(r"[^\x20-\x2b\x2d-\x5b\x5d-\x7f]")
_KEY_SPECIAL = re.compile(r"[ :=\\]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SEPARATOR = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=: \t\f]?[ \t\f]*(.*)", re.DOTALL)
_ELEMENT = re.compile(r"((?:\\.|[^\\,])*\\?)(,|\Z)", re.DOTALL)
_BLANKS: Final = " \t\f"


def escape_value(text: str) -> str:
    """One value as Pinot writes it: backslash doubled, a comma escaped, control and non-ASCII characters as ``\\uXXXX``
    (UTF-16 units).
    """
    return _SPECIAL.sub(lambda m: _WRITE.get(m[0]) or _units(m[0]), text)


def escape_key(text: str) -> str:
    """One key: a backslash before blank, ``:``, ``=`` and backslash."""
    return _KEY_SPECIAL.sub(lambda m: "\\" + m[0], text)


def format_properties(items: Iterable[tuple[str, Value]], *, blank_after_empty: bool = False) -> bytes:
    """Lines ``key = value``; a list is joined by commas.

    An empty value is ``key =``, and ``key = `` with ``blank_after_empty``: Pinot writes that into v1 and drops the
    blank when it saves the file once more for v3.
    """
    end = " \n" if blank_after_empty else "\n"
    lines = []
    for key, value in items:
        text = ",".join(map(escape_value, value)) if isinstance(value, list) else escape_value(value)
        lines.append(f"{escape_key(key)} = {text}\n" if text else f"{escape_key(key)} ={end}")
    return "".join(lines).encode("utf-8")


def parse_properties(data: bytes, what: str = "metadata.properties") -> dict[str, Value]:
    """Keys and values; a value with unescaped commas or a repeated key is a list. Raises SegmentCorrupt for bytes that
    are not UTF-8.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SegmentCorrupt(f"{what} is not UTF-8 text at offset {error.start}.") from error
    found: dict[str, Value] = {}
    for line in _logical_lines(text):
        match = _SEPARATOR.match(line)
        assert match is not None  # the pattern matches every text
        key = _unescape(match[1])
        value = _split(match[2])
        before = found.get(key)
        if before is None:
            found[key] = value
            continue
        if not isinstance(before, list):
            before = found[key] = [before]
        before += value if isinstance(value, list) else [value]
    return found


def to_safe(text: str) -> str | None:
    """String-safe form of a min, max or default null: commas and outer blanks marked with NUL; None when it cannot be
    stored.
    """
    if any(ord(c) > 0xFFFF or 0xD800 <= ord(c) <= 0xDFFF for c in text):
        return None
    out = text.replace(",", "\0\0")
    if out.startswith(" "):
        out = "\0" + out
    return out + "\0" if out.endswith(" ") else out


def from_safe(text: str) -> str:
    """Undo :func:`to_safe`."""
    if "\0" not in text:
        return text
    if text.startswith("\0 "):
        text = text[1:]
    if text.endswith(" \0"):
        text = text[:-1]
    return text.replace("\0\0", ",")


def _units(char: str) -> str:
    encoded = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{encoded[i : i + 2].hex().upper()}" for i in range(0, len(encoded), 2))


def _logical_lines(text: str) -> Iterable[str]:
    held: list[str] = []
    for line in re.split(r"\r\n|\n|\r", text):
        stripped = line.strip(_BLANKS)
        if not held and (not stripped or stripped[0] in "#!"):
            continue
        tail = len(stripped) - len(stripped.rstrip("\\"))
        if tail % 2:
            held.append(stripped[:-1])
            continue
        yield "".join((*held, stripped)) if held else stripped
        held.clear()
    if any(held):
        yield "".join(held)


def _split(raw: str) -> Value:
    if "," not in raw:
        return _unescape(raw.strip(_BLANKS))
    if "\\" not in raw:
        return [piece.strip(_BLANKS) for piece in raw.split(",")]
    pieces = []
    for match in _ELEMENT.finditer(raw):
        pieces.append(_unescape(match[1].strip(_BLANKS)))
        if not match[2]:
            break
    return pieces[0] if len(pieces) == 1 else pieces


def _unescape(raw: str) -> str:
    if "\\" not in raw:
        return raw
    text = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _READ.get(m[2], m[2]), raw)
    if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
