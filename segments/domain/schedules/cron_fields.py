"""The seven fields of a Quartz cron expression: what each may hold, and how lists, ranges, steps and names in them are
read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from segments.domain.formats.whole_number import whole_number
from segments.errors import InvalidInput
from segments.names import shown

#: What every refusal ends with.
EXAMPLE: Final = (
    "Write it as Quartz does, seconds first and '?' for one of the two days: '0 */30 * * * ?' is every 30 minutes, "
    "'0 0 2 ? * MON-FRI' is 02:00 from Monday to Friday."
)
_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


@dataclass(frozen=True)
class Field:
    """One field. ``step``: its largest step. ``wraps``: a range may go over its end, as in ``22-2``."""

    name: str
    low: int
    high: int
    step: int
    names: Mapping[str, int]
    wraps: bool = True


SECONDS: Final = Field("seconds", 0, 59, 59, {})
MINUTES: Final = Field("minutes", 0, 59, 59, {})
HOURS: Final = Field("hours", 0, 23, 23, {})
DAYS_OF_MONTH: Final = Field("day of month", 1, 31, 31, {})
MONTHS: Final = Field("month", 1, 12, 12, {name: i + 1 for i, name in enumerate(_MONTHS)})
DAYS_OF_WEEK: Final = Field("day of week", 1, 7, 7, {name: i + 1 for i, name in enumerate(_DAYS)})
YEARS: Final = Field("year", 1970, 2199, 229, {}, wraps=False)


@dataclass(frozen=True)
class Part:
    """A piece of an expression, in upper case; ``at`` is where it begins there, from 0."""

    text: str
    at: int
    field: Field
    expression: str

    def wrong(self, why: str, offset: int = 0) -> InvalidInput:
        """The refusal of this piece, with its place (``position`` counts from 1)."""
        place = self.at + offset + 1
        return InvalidInput(
            f"Cron expression '{shown(self.expression)}' is wrong at character {place} ({self.field.name}, "
            f"'{shown(self.text)}'): {why}.",
            remedy=EXAMPLE,
            position=place,
        )

    def pieces(self, between: str) -> Iterator[Part]:
        """What stands between these characters, each with its place."""
        at = self.at
        for text in self.text.split(between):
            yield Part(text, at, self.field, self.expression)
            at += len(text) + 1


def values(part: Part) -> frozenset[int]:
    """The numbers of one entry of a list: ``*``, ``7``, ``MON``, ``8-18``, ``NOV-FEB``, ``5/15``, ``*/2``, ``10-40/5``.

    InvalidInput names the character and the reason.
    """
    head, has_step, step_text = part.text.partition("/")
    step = _step(part, len(head) + 1, step_text) if has_step else 1
    first, has_end, last = head.partition("-")
    if not part.text:
        raise part.wrong("nothing stands here")
    if head == "*" or (has_step and not head):
        return frozenset(range(part.field.low, part.field.high + 1, step))
    start, is_name = _value(part, 0, first)
    if is_name and has_step:
        raise part.wrong("Quartz knows no step after a name; use numbers", len(head))
    if not has_end:
        return frozenset(range(start, part.field.high + 1, step)) if has_step else frozenset({start})
    end, ends_with_name = _value(part, len(first) + 1, last)
    if is_name != ends_with_name:
        raise part.wrong("a range has two numbers or two names", len(first) + 1)
    return _range(part, start, end, step)


def _range(part: Part, start: int, end: int, step: int) -> frozenset[int]:
    low, high = part.field.low, part.field.high
    if end >= start:
        return frozenset(range(start, end + 1, step))
    if not part.field.wraps:
        raise part.wrong(f"{start} is after {end}")
    count = high - low + 1
    return frozenset((n - low) % count + low for n in range(start, end + count + 1, step))


def _step(part: Part, offset: int, text: str) -> int:
    step = whole_number(text)
    if step is None:
        raise part.wrong("a whole number must follow '/'", min(offset, len(part.text) - 1))
    if not 1 <= step <= part.field.step:
        raise part.wrong(f"a step of the {part.field.name} is 1 to {part.field.step}, not {step}", offset)
    return step


def _value(part: Part, offset: int, text: str) -> tuple[int, bool]:
    """The number, and whether it was a name."""
    field = part.field
    if text in field.names:
        return field.names[text], True
    number = whole_number(text)
    place = min(offset, max(len(part.text) - 1, 0))
    if number is None:
        names = (
            f" or {min(field.names, key=field.names.__getitem__)} to {max(field.names, key=field.names.__getitem__)}"
            if field.names
            else ""
        )
        raise part.wrong(f"a number from {field.low} to {field.high}{names} is expected here", place)
    if not field.low <= number <= field.high:
        raise part.wrong(f"a number from {field.low} to {field.high} is expected here, not {number}", place)
    return number, False
