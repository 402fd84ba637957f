"""Functions of text over Arrow columns; how long a text they may make has a bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from segments.datatypes.compute import pc
from segments.datatypes.convert import BadValue, convert
from segments.errors import InvalidInput
from segments.expressions.arrow.constants import constant

Values = Any
_JAVA_SPACE: Final = "".join(map(chr, range(33)))
#: Bytes of one text that a function makes longer; stored texts have 512 characters unless a schema says otherwise.
_MAX_TEXT: Final = 1 << 20


def of_texts(operation: Callable[..., Values]) -> Callable[..., Values]:
    """A function of texts only; other values are written as Pinot writes them."""
    return lambda *a: operation(*(convert(v, "STRING") for v in a))


def strcmp(a: Values, b: Values) -> Values:
    """-1, 0 or 1; Pinot gives any number of that sign."""
    a, b = convert(a, "STRING"), convert(b, "STRING")
    return pc.subtract(pc.greater(a, b).cast(pa.int32()), pc.less(a, b).cast(pa.int32()))


def concat(a: Values, b: Values, mark: Values | None = None) -> Values:
    """``concat(a, b[, separator])``. Raises BadValue for a row whose text would become too long."""
    pieces = [convert(v, "STRING") for v in (a, b)]
    between = convert(mark, "STRING") if mark is not None else pa.array([""] * len(a), pa.string())
    lengths = [
        pc.fill_null(pc.binary_length(piece), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        for piece in (*pieces, between)
    ]
    check_grown(pieces[0], sum(lengths[1:], lengths[0]))
    return pc.binary_join_element_wise(*pieces, between)


def substr(text: Values, begin: Values, end: Values | None = None) -> Values:
    """From ``begin`` (0-based) to before ``end`` (-1: the end); both constants."""
    first, last = constant(begin, "first position"), constant(end, "last position") if end is not None else -1
    if not isinstance(first, int) or not isinstance(last, int) or first < 0:
        raise InvalidInput(f"'substr' needs positions from 0 on, not {first!r} and {last!r}.")
    return pc.utf8_slice_codeunits(convert(text, "STRING"), first, None if last < 0 else last)


def replace(text: Values, find: Values, put: Values) -> Values:
    """All of a constant text replaced by another. Raises BadValue for a row whose text would become too long."""
    text, old, new = convert(text, "STRING"), str(constant(find, "text to find")), str(constant(put, "replacement"))
    if not old:
        return text  # Arrow would search an empty text for ever, and fill the memory
    added = len(new.encode()) - len(old.encode())
    if added > 0:
        found = pc.fill_null(pc.count_substring(text, old), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        before = pc.fill_null(pc.binary_length(text), 0).to_numpy(zero_copy_only=False)
        check_grown(text, np.where(found > 0, before + found * added, 0))
    return pc.replace_substring(text, old, new)


def check_grown(text: Values, sizes: Any) -> None:
    """Raises BadValue for the row with the longest text when that is too long; ``sizes`` are bytes to be made.

    Functions within functions make texts many times as long with every level.
    """
    if len(sizes) and int(sizes.max()) > _MAX_TEXT:
        row = int(sizes.argmax())
        raise BadValue(
            row,
            str(text[row].as_py())[:80],
            f"would become a text of {int(sizes[row])} bytes; at most {_MAX_TEXT} are made",
        )


def search(operation: Callable[..., Values], name: str) -> Callable[..., Values]:
    """A function that searches a text for a constant one."""
    return lambda text, find: operation(convert(text, "STRING"), str(constant(find, f"text that {name} searches for")))


def split(text: Values, mark: Values) -> Values:
    """The pieces between a constant mark, as a multi-value."""
    return pc.split_pattern(convert(text, "STRING"), str(constant(mark, "mark of split")))


def trimmed(operation: Callable[..., Values]) -> Callable[..., Values]:
    """A trim of what Java takes for space: all characters up to U+0020."""
    return of_texts(lambda text: operation(text, characters=_JAVA_SPACE))
