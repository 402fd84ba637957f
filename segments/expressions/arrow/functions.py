"""Pinot's functions for ingestion, each over whole Arrow columns; null in gives null out unless the function is about
nulls.

Every function takes plain arrays of one length and returns one. Values that do not fit raise BadValue with their row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from segments.datatypes.compute import pc
from segments.datatypes.convert import BadValue, convert, plain
from segments.errors import InvalidInput
from segments.expressions.arrow.constants import constant
from segments.expressions.arrow.json_paths import JSON_FUNCTIONS
from segments.expressions.arrow.times import DATE_FUNCTIONS

Values = Any
_JAVA_SPACE: Final = "".join(map(chr, range(33)))
#: Bytes of one text that ``concat`` and ``replace`` make; stored texts have 512 characters unless a schema says
#: otherwise.
_MAX_TEXT: Final = 1 << 20
_CASTS: Final = {
    "INT": "INT",
    "INTEGER": "INT",
    "LONG": "LONG",
    "BIGINT": "LONG",
    "FLOAT": "FLOAT",
    "REAL": "FLOAT",
    "DOUBLE": "DOUBLE",
    "STRING": "STRING",
    "VARCHAR": "STRING",
    "BOOLEAN": "BOOLEAN",
    "TIMESTAMP": "TIMESTAMP",
}


@dataclass(frozen=True)
class Function:
    """``run`` over as many columns as arguments; ``least`` to ``most`` arguments (None: any number)."""

    run: Callable[..., Values]
    least: int
    most: int | None


def find_function(name: str) -> Function:
    """The function; capitals and underscores do not count, as in Pinot. Raises InvalidInput with its name when it is
    not supported.
    """
    found = _FUNCTIONS.get(name.lower().replace("_", ""))
    if found is None:
        raise InvalidInput(
            f"Function '{name}' is not supported while building segments.",
            remedy="Compute the column before the push, or use one of the functions in docs/segment-files.md.",
        )
    return found


def supported_functions() -> list[str]:
    """All names, in the form that is compared (no capitals, no underscores)."""
    return sorted(_FUNCTIONS)


def as_boolean(values: Values) -> Values:
    """Any column as bool."""
    return values if pt.is_boolean(values.type) else pc.not_equal(convert(values, "BOOLEAN"), 0)


def _number(values: Values) -> Values:
    """Whole numbers and booleans as int64, all else as float64; text is parsed."""
    values = plain(values)
    whole = pt.is_integer(values.type) or pt.is_boolean(values.type)
    return convert(values, "LONG") if whole else convert(values, "DOUBLE")


def _pair(a: Values, b: Values) -> tuple[Values, Values]:
    a, b = _number(a), _number(b)
    if a.type != b.type:
        a, b = a.cast(pa.float64(), safe=False), b.cast(pa.float64(), safe=False)
    return a, b


def _binary(operation: Callable[[Values, Values], Values]) -> Callable[..., Values]:
    return lambda a, b: operation(*_pair(a, b))


def _divide(a: Values, b: Values) -> Values:
    return pc.divide(convert(_number(a), "DOUBLE"), convert(_number(b), "DOUBLE"))


def _modulo(a: Values, b: Values) -> Values:
    """The remainder with the sign of ``a``, as in Java."""
    a, b = _pair(a, b)
    missing = (pc.is_null(a)).to_numpy(zero_copy_only=False) | pc.is_null(b).to_numpy(zero_copy_only=False)
    top, bottom = (x.fill_null(1).to_numpy(zero_copy_only=False) for x in (a, b))
    zero = np.flatnonzero((bottom == 0) & ~missing)
    if len(zero) and pt.is_integer(b.type):
        raise BadValue(int(zero[0]), 0)
    with np.errstate(all="ignore"):
        return pa.array(np.fmod(top, bottom), mask=missing)


def _real(operation: Callable[[Values], Values]) -> Callable[..., Values]:
    return lambda a: operation(convert(_number(a), "DOUBLE"))


def _text(operation: Callable[..., Values]) -> Callable[..., Values]:
    """A function of texts only."""
    return lambda *a: operation(*(convert(v, "STRING") for v in a))


def _compare(operation: Callable[[Values, Values], Values]) -> Callable[..., Values]:
    """Texts are compared as texts, everything else as numbers."""

    def run(a: Values, b: Values) -> Values:
        if pt.is_string(a.type) and pt.is_string(b.type):
            return operation(a, b)
        if pt.is_boolean(a.type) or pt.is_boolean(b.type):
            return operation(convert(a, "BOOLEAN"), convert(b, "BOOLEAN"))
        return operation(*_pair(a, b))

    return run


def _strcmp(a: Values, b: Values) -> Values:
    a, b = convert(a, "STRING"), convert(b, "STRING")
    return pc.subtract(pc.greater(a, b).cast(pa.int32()), pc.less(a, b).cast(pa.int32()))


def _concat(a: Values, b: Values, mark: Values | None = None) -> Values:
    pieces = [convert(v, "STRING") for v in (a, b)]
    between = convert(mark, "STRING") if mark is not None else pa.array([""] * len(a), pa.string())
    lengths = [
        pc.fill_null(pc.binary_length(piece), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        for piece in (*pieces, between)
    ]
    _check_grown(pieces[0], sum(lengths[1:], lengths[0]))
    return pc.binary_join_element_wise(*pieces, between)


def _substr(text: Values, begin: Values, end: Values | None = None) -> Values:
    """From ``begin`` (0-based) to before ``end`` (-1: the end); both constants."""
    first, last = constant(begin, "first position"), constant(end, "last position") if end is not None else -1
    if not isinstance(first, int) or not isinstance(last, int) or first < 0:
        raise InvalidInput(f"'substr' needs positions from 0 on, not {first!r} and {last!r}.")
    return pc.utf8_slice_codeunits(convert(text, "STRING"), first, None if last < 0 else last)


def _replace(text: Values, find: Values, put: Values) -> Values:
    text, old, new = convert(text, "STRING"), str(constant(find, "text to find")), str(constant(put, "replacement"))
    if not old:
        return text  # Arrow would search an empty text for ever, and fill the memory
    added = len(new.encode()) - len(old.encode())
    if added > 0:
        found = pc.fill_null(pc.count_substring(text, old), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        before = pc.fill_null(pc.binary_length(text), 0).to_numpy(zero_copy_only=False)
        _check_grown(text, np.where(found > 0, before + found * added, 0))
    return pc.replace_substring(text, old, new)


def _check_grown(text: Values, sizes: Any) -> None:
    """Functions in functions make texts many times as long with every level: a row's text has a bound, before it is
    made.
    """
    if len(sizes) and int(sizes.max()) > _MAX_TEXT:
        row = int(sizes.argmax())
        raise BadValue(
            row,
            str(text[row].as_py())[:80],
            f"would become a text of {int(sizes[row])} bytes; at most {_MAX_TEXT} are made",
        )


def _search(operation: Callable[..., Values], name: str) -> Callable[..., Values]:
    return lambda text, find: operation(convert(text, "STRING"), str(constant(find, f"text that {name} looks for")))


def _split(text: Values, mark: Values) -> Values:
    return pc.split_pattern(convert(text, "STRING"), str(constant(mark, "mark of split")))


def _trim(operation: Callable[..., Values]) -> Callable[..., Values]:
    return _text(lambda text: operation(text, characters=_JAVA_SPACE))


def _fold(operation: Callable[[Values, Values], Values]) -> Callable[..., Values]:
    def run(*a: Values) -> Values:
        found = as_boolean(a[0])
        for other in a[1:]:
            found = operation(found, as_boolean(other))
        return found

    return run


def _in(value: Values, *others: Values) -> Values:
    found = _compare(pc.equal)(value, others[0])
    for other in others[1:]:
        found = pc.or_kleene(found, _compare(pc.equal)(value, other))
    return found


def _between(value: Values, low: Values, high: Values) -> Values:
    return pc.and_kleene(_compare(pc.greater_equal)(value, low), _compare(pc.less_equal)(value, high))


def _same_type(*a: Values) -> list[Values]:
    kinds = {v.type for v in a if not pt.is_null(v.type)}
    if len(kinds) <= 1:
        kind = kinds.pop() if kinds else pa.string()
        return [v.cast(kind) for v in a]
    if all(pt.is_integer(k) or pt.is_floating(k) for k in kinds):
        return [convert(_number(v), "DOUBLE") for v in a]
    return [convert(v, "STRING") for v in a]


def _case(*a: Values) -> Values:
    """``caseWhen(condition, value, condition, value, ..., otherwise)``."""
    values = _same_type(*a[1::2], a[-1]) if len(a) % 2 else _same_type(*a[1::2], pa.nulls(len(a[0])))
    found = values[-1]
    for condition, value in reversed(list(zip(a[0 : len(a) // 2 * 2 : 2], values[:-1], strict=True))):
        found = pc.if_else(pc.fill_null(as_boolean(condition), False), value, found)
    return found


def _cast(value: Values, kind: Values) -> Values:
    wanted = _CASTS.get(str(constant(kind, "type")).upper())
    if wanted is None:
        raise InvalidInput(
            f"CAST to '{constant(kind, 'type')}' is not supported.", remedy=f"Use one of {', '.join(_CASTS)}."
        )
    found = convert(value, wanted)
    return pc.not_equal(found, 0) if wanted == "BOOLEAN" else found


def _f(run: Callable[..., Values], least: int, most: int | None = -1) -> Function:
    return Function(run, least, least if most == -1 else most)


_FUNCTIONS: Final[dict[str, Function]] = {
    "plus": _f(_binary(pc.add), 2),
    "add": _f(_binary(pc.add), 2),
    "minus": _f(_binary(pc.subtract), 2),
    "sub": _f(_binary(pc.subtract), 2),
    "times": _f(_binary(pc.multiply), 2),
    "mult": _f(_binary(pc.multiply), 2),
    "divide": _f(_divide, 2),
    "div": _f(_divide, 2),
    "mod": _f(_modulo, 2),
    "abs": _f(lambda a: pc.abs(_number(a)), 1),
    "ceil": _f(_real(pc.ceil), 1),
    "ceiling": _f(_real(pc.ceil), 1),
    "floor": _f(_real(pc.floor), 1),
    "exp": _f(_real(pc.exp), 1),
    "ln": _f(_real(pc.ln), 1),
    "sqrt": _f(_real(pc.sqrt), 1),
    "least": _f(_binary(lambda a, b: pc.if_else(pc.less(b, a), b, a)), 2),
    "greatest": _f(_binary(lambda a, b: pc.if_else(pc.greater(b, a), b, a)), 2),
    "equals": _f(_compare(pc.equal), 2),
    "notequals": _f(_compare(pc.not_equal), 2),
    "lessthan": _f(_compare(pc.less), 2),
    "lessthanorequal": _f(_compare(pc.less_equal), 2),
    "greaterthan": _f(_compare(pc.greater), 2),
    "greaterthanorequal": _f(_compare(pc.greater_equal), 2),
    "in": _f(_in, 2, None),
    "between": _f(_between, 3),
    "and": _f(_fold(pc.and_kleene), 1, None),
    "or": _f(_fold(pc.or_kleene), 1, None),
    "not": _f(lambda a: pc.invert(as_boolean(a)), 1),
    "isnull": _f(pc.is_null, 1),
    "isnotnull": _f(pc.is_valid, 1),
    "coalesce": _f(lambda *a: pc.coalesce(*_same_type(*a)), 1, None),
    "casewhen": _f(_case, 2, None),
    "cast": _f(_cast, 2),
    "lower": _f(_text(pc.utf8_lower), 1),
    "upper": _f(_text(pc.utf8_upper), 1),
    "trim": _f(_trim(pc.utf8_trim), 1),
    "ltrim": _f(_trim(pc.utf8_ltrim), 1),
    "rtrim": _f(_trim(pc.utf8_rtrim), 1),
    "length": _f(_text(pc.utf8_length), 1),
    "reverse": _f(_text(pc.utf8_reverse), 1),
    "concat": _f(_concat, 2, 3),
    "substr": _f(_substr, 2, 3),
    "replace": _f(_replace, 3),
    "startswith": _f(_search(pc.starts_with, "startsWith"), 2),
    "endswith": _f(_search(pc.ends_with, "endsWith"), 2),
    "contains": _f(_search(pc.match_substring, "contains"), 2),
    "split": _f(_split, 2),
    "strcmp": _f(_strcmp, 2),
    **{name: Function(*given) for name, given in (DATE_FUNCTIONS | JSON_FUNCTIONS).items()},
}
