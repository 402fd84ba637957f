"""Reads JSON values into typed models: scalars as Pinot's own parser takes them, refusals that name the path and what
is expected.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from segments.errors import InvalidInput
from segments.names import shown

T = TypeVar("T")

_INT: Final = (-(2**31), 2**31 - 1)
_LONG: Final = (-(2**63), 2**63 - 1)
_WORDS: Final = {
    "object": "an object",
    "array": "a list",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
}
_REMEDIES: Final = {
    "text": 'Write it in quotes, "...".', "an object": "Write it as {...}.", "a list": "Write it as [...].",
    "true or false": "Write true or false.", "a whole number": "Write a whole number.", "a number": "Write a number.",
}  # fmt: skip
_EXPECTED: Final = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`)?")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `([^`]*)`")
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[\.\.\.\]")
_LONGEST_SHOWN: Final = 60
_MOST_DIGITS: Final = 20
_preparing: Final = threading.Lock()
_prepared: Final[set[Any]] = set()


class Model(msgspec.Struct, rename="camel"):
    """Base of all models. Fields are snake_case here and camelCase in JSON; keys that a model does not know are left
    alone.
    """


class Text(str):
    """Text; a number or true/false is taken as its text, as Pinot does (``"replication": 1``)."""

    __slots__ = ()


class Whole(int):
    """A Java int; text that is one is taken, too, and a fraction is cut off, as Pinot does."""


class Long(int):
    """A Java long, otherwise as ``Whole``."""


class Real(float):
    """A finite number; text that is one is taken, too."""


class Flag(int):
    """True or false; the text ``"true"`` or ``"false"`` and numbers (0 is false) are taken, too, as Pinot does."""


def prepared(model: type[T]) -> type[T]:
    """``model``, for msgspec to read values of.

    msgspec gathers the fields of a type when it first reads one, and another thread that reads one meanwhile follows
    a null pointer, which ends the process. So they are gathered here, in one thread at a time.
    """
    if model not in _prepared:
        with _preparing:
            msgspec.json.Decoder(model)
            _prepared.add(model)
    return model


def read_model(model: type[T], value: Any, what: str, *, below: str = "") -> T:
    """``value`` (parsed JSON) as a model. ``what`` names the document in refusals, ``below`` is where the value stands
    in it.

    Raises InvalidInput: ``ingestionConfig.batchIngestionConfig: expected an object, got text`` with a remedy; ``field``
    in its data is the path.
    """
    try:
        return msgspec.convert(value, prepared(model), dec_hook=_scalar)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), model, value, what, below) from error


def kind_of(value: Any) -> str:
    """The JSON type of a parsed value in words, as refusals say it."""
    if value is None:
        return "null"
    for kind, word in (
        (bool, "true or false"),
        (str, "text"),
        (int, "a number"),
        (float, "a number"),
        (list | tuple, "a list"),
    ):
        if isinstance(value, kind):
            return word
    return "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"


def json_schema_of(kind: type) -> dict[str, Any]:
    """JSON schema of one of the scalar types, as what is best sent. Raises NotImplementedError for other types."""
    found = {Text: "string", Whole: "integer", Long: "integer", Real: "number", Flag: "boolean"}.get(kind)
    if found is None:
        raise NotImplementedError(kind)
    return {"type": found}


class _Mismatch(ValueError):
    """A scalar that cannot be read; msgspec adds the path."""

    def __init__(self, expected: str, value: Any) -> None:
        shown = kind_of(value) if isinstance(value, dict | list | bool | None) else _shown(value)
        super().__init__(f"expected {expected}, got {shown}")


def _scalar(kind: type, value: Any) -> Any:
    """msgspec asks this for every value of one of our scalar types."""
    if kind is Text:
        return Text(_text(value))
    if kind is Whole:
        return Whole(_whole(value, *_INT))
    if kind is Long:
        return Long(_whole(value, *_LONG))
    if kind is Flag:
        return Flag(_flag(value))
    if kind is Real:
        return Real(_real(value))
    raise NotImplementedError(f"{kind} is not a type of a model")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    raise _Mismatch("text", value)


def _whole(value: Any, low: int, high: int) -> int:
    digits = value.strip() if isinstance(value, str) else ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _Mismatch("a whole number", value)
    if isinstance(value, str) and not (
        digits.isascii() and digits.removeprefix("-").isdecimal() and len(digits) <= _MOST_DIGITS
    ):
        raise _Mismatch("a whole number", value)
    if isinstance(value, float) and not math.isfinite(value):
        raise _Mismatch("a whole number", value)
    number = int(value)
    if not low <= number <= high:
        raise _Mismatch(f"a whole number from {low} to {high}", value)
    return number


def _real(value: Any) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise _Mismatch("a number", value)
    return number


def _flag(value: Any) -> bool:
    if isinstance(value, bool | int):
        return bool(value)
    word = value.strip().lower() if isinstance(value, str) else None
    if word not in ("true", "false", ""):
        raise _Mismatch("true or false", value)
    return word == "true"


def _refusal(text: str, model: Any, value: Any, what: str, below: str) -> InvalidInput:
    message, _, raw_path = text.partition(" - at `")
    steps = _steps(raw_path.rstrip("`"), message, model, value)
    path = _path(below, steps)
    found = _EXPECTED.match(message)
    expected, got = (_in_words(found[1]), _in_words(found[2] or "")) if found else ("", "")
    fault = f"expected {expected}, got {got}" if found and got else message[:1].lower() + message[1:]
    unknown = _UNKNOWN.match(message)
    if unknown:
        fields = ", ".join(f.encode_name for f in msgspec.structs.fields(model)) if not steps else ""
        unknown_field = f"Field '{shown(unknown[1])}' is not known {f'in {path}' if path else 'here'} ({what})."
        return InvalidInput(
            unknown_field,
            remedy=f"The fields are {fields}." if fields else "Leave it out.",
            field=unknown[1][:_LONGEST_SHOWN],
        )
    remedy = next((r for word, r in _REMEDIES.items() if fault.startswith(f"expected {word}")), "Correct the value.")
    return InvalidInput(f"{path or what}: {fault}{f' ({what})' if path else ''}.", remedy=remedy, field=path)


def _in_words(types: str) -> str:
    """``object | null`` -> ``an object``: null is always allowed where it is, so it is not worth saying."""
    named = [_WORDS.get(t.strip(), t.strip()) for t in types.split("|")]
    return " or ".join(w for w in named if w != "null" or len(named) == 1)


def _steps(raw: str, message: str, model: Any, value: Any) -> list[str | int]:
    """``$.a.b[0][...]`` -> ["a", "b", 0, "the key"]: msgspec does not name the key of a map, so the one at fault is
    searched.
    """
    if not raw.startswith("$"):
        return []
    steps: list[str | int] = []
    for match in _STEP.finditer(raw[1:]):
        if match[1] is not None:
            steps.append(match[1])
        elif match[2] is not None:
            steps.append(int(match[2]))
        else:
            steps.append(_key_at_fault(model, value, steps))
    return steps


def _key_at_fault(model: Any, value: Any, steps: list[str | int]) -> str:
    """The key of the map at ``steps`` without whose value the rest is refused. Halves the map, so large ones are no
    work.
    """
    keys = list(_at(value, steps))
    while len(keys) > 1:
        half = keys[: len(keys) // 2]
        keys = half if _is_refused(model, value, steps, half) else keys[len(half) :]
    return str(keys[0])[:_LONGEST_SHOWN]


def _is_refused(model: Any, value: Any, steps: list[str | int], keys: list[Any]) -> bool:
    holder = _at(value, steps)
    try:
        msgspec.convert(_replaced(value, steps, {k: holder[k] for k in keys}), prepared(model), dec_hook=_scalar)
    except msgspec.ValidationError:
        return True
    return False


def _at(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        value = value[step]
    return value


def _replaced(value: Any, steps: list[str | int], new: Any) -> Any:
    """``value`` with only what leads to ``steps``, where ``new`` is: nothing else of it can be what is refused (models
    require no key).
    """
    if not steps:
        return new
    inner = _replaced(value[steps[0]], steps[1:], new)
    return [inner] if isinstance(steps[0], int) else {steps[0]: inner}


def _path(below: str, steps: list[str | int]) -> str:
    text = below
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _shown(value: Any) -> str:
    text = str(value)
    return (
        repr(text[:_LONGEST_SHOWN] + ("..." if len(text) > _LONGEST_SHOWN else ""))
        if isinstance(value, str)
        else text[:_LONGEST_SHOWN]
    )
