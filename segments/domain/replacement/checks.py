"""Checks of a new snapshot before queries switch to it: their kinds, what a measured value means, and the report (rule
`checked-before-switch`).

How they are written down in a table config is in ``check_document``; nothing is measured here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Literal

from segments.domain.formats.plural import counted

#: Seconds that one check may take unless the document says otherwise.
DEFAULT_TIMEOUT_MS: Final = 60_000
_SHOWN: Final = 3
#: Characters of a measured value or an error that are kept: a report is a record in ZooKeeper.
_LONGEST: Final = 1000


class Level(StrEnum):
    """What a failed check does: refuse the switch, or only be recorded."""

    BLOCK = "block"
    WARN = "warn"


@dataclass(frozen=True)
class Bound:
    """A moment: epoch milliseconds, or an offset from now in milliseconds."""

    text: str
    millis: int | None = None
    offset_ms: int = 0

    def at(self, now_ms: int) -> int:
        """Epoch milliseconds."""
        return now_ms + self.offset_ms if self.millis is None else self.millis


@dataclass(frozen=True)
class Expectation:
    """A condition on one value: ``= 0``, ``between 1 and 5``, ``!= 'x'``. ``operands`` has two for
    between, else one.
    """

    text: str
    operator: str
    operands: tuple[float | str, ...]

    def holds(self, value: Any) -> bool:
        """Whether the value satisfies it. What cannot be compared, null and NaN satisfy nothing."""
        pairs = [(_comparable(value, operand), operand) for operand in self.operands]
        if any(found is None for found, _ in pairs):
            return False
        return _holds(self.operator, [found for found, _ in pairs], list(self.operands))


@dataclass(frozen=True)
class RowCount:
    """Rows, in all and against the snapshot that is replaced (``min_ratio`` 0.5: at least half as many)."""

    name: str
    level: Level
    min_rows: int | None = None
    max_rows: int | None = None
    min_ratio: float | None = None
    max_ratio: float | None = None
    kind: Literal["rowCount"] = "rowCount"


@dataclass(frozen=True)
class NullShare:
    """Share of null values in a column, 0 to ``max_share``."""

    name: str
    level: Level
    column: str
    max_share: float
    kind: Literal["nullShare"] = "nullShare"


@dataclass(frozen=True)
class TimeRange:
    """First and last time of a date-time column (None: the table's time column); ``max_age_ms`` is that of the last."""

    name: str
    level: Level
    column: str | None = None
    not_before: Bound | None = None
    not_after: Bound | None = None
    max_age_ms: int | None = None
    kind: Literal["time"] = "time"


@dataclass(frozen=True)
class UniqueKey:
    """No two rows have the same values in these columns."""

    name: str
    level: Level
    columns: tuple[str, ...]
    kind: Literal["uniqueKey"] = "uniqueKey"


@dataclass(frozen=True)
class SampleSql:
    """A query on the new segments alone; the first value of its first row must satisfy ``expect``."""

    name: str
    level: Level
    sql: str
    expect: Expectation
    kind: Literal["sql"] = "sql"


Check = RowCount | NullShare | TimeRange | UniqueKey | SampleSql


@dataclass(frozen=True)
class CheckPlan:
    """The checks of a table, in order; ``timeout_ms`` for each."""

    checks: tuple[Check, ...] = ()
    timeout_ms: int = DEFAULT_TIMEOUT_MS


@dataclass(frozen=True)
class Measured:
    """What was found for one check; fields of other kinds stay empty. ``error``: why it could not be measured.

    ``previous_rows`` None: nothing is replaced. ``duplicates``: some keys with their number of rows. ``row``: the first
    of the answer.
    """

    rows: int | None = None
    previous_rows: int | None = None
    nulls: int | None = None
    first_ms: int | None = None
    last_ms: int | None = None
    duplicates: tuple[tuple[Any, ...], ...] = ()
    row: tuple[Any, ...] | None = None
    error: str = ""


@dataclass(frozen=True)
class Outcome:
    """One check's result as shown to people: measured and allowed values as text."""

    name: str
    kind: str
    level: Level
    passed: bool
    measured: str
    allowed: str
    error: str = ""

    @property
    def sentence(self) -> str:
        """Check, measured and allowed value."""
        found = (
            f"could not be measured: {self.error}"
            if self.error
            else f"measured {self.measured}, allowed {self.allowed}"
        )
        kind = "" if self.kind == self.name else f" ({self.kind})"
        return f"{self.name}{kind}: {found}".rstrip(".")


@dataclass(frozen=True)
class CheckReport:
    """The checks of one lineage entry as they last ran. ``override``: the reason for which failed ones were passed
    over.

    ``preview``: run without a switch. ``segments``: how many were read.
    """

    table: str
    entry: str
    ran_at_ms: int
    took_ms: int
    segments: int
    outcomes: tuple[Outcome, ...]
    override: str = ""
    actor: str = ""
    preview: bool = False

    @property
    def blocking(self) -> list[Outcome]:
        """Failed checks that refuse the switch."""
        return [o for o in self.outcomes if not o.passed and o.level is Level.BLOCK]

    @property
    def warnings(self) -> list[Outcome]:
        """Failed checks that do not."""
        return [o for o in self.outcomes if not o.passed and o.level is Level.WARN]

    @property
    def status(self) -> str:
        """passed, warned, overridden or blocked."""
        if self.blocking:
            return "overridden" if self.override else "blocked"
        return "warned" if self.warnings else "passed"

    def to_json(self) -> dict[str, Any]:
        """The document of the REST API and of the record."""
        return {
            "table": self.table,
            "entry": self.entry,
            "status": self.status,
            "ranAtMs": self.ran_at_ms,
            "tookMs": self.took_ms,
            "segments": self.segments,
            "override": self.override,
            "actor": self.actor,
            "preview": self.preview,
            "checks": [asdict(o) for o in self.outcomes],
        }


def report_from_json(body: Mapping[str, Any]) -> CheckReport:
    """Back from ``CheckReport.to_json``."""
    outcomes = tuple(Outcome(**{**o, "level": Level(o["level"])}) for o in body["checks"])
    return CheckReport(
        body["table"],
        body["entry"],
        body["ranAtMs"],
        body["tookMs"],
        body["segments"],
        outcomes,
        body["override"],
        body["actor"],
        body["preview"],
    )


def evaluate(check: Check, found: Measured, now_ms: int) -> Outcome:
    """Did it pass? What could not be measured did not."""
    if found.error:
        return Outcome(
            check.name, check.kind, check.level, False, "", _allowed(check, found, now_ms), found.error[:_LONGEST]
        )
    match check:
        case RowCount():
            passed, measured = _row_count(check, found)
        case NullShare():
            share = found.nulls / found.rows if found.rows and found.nulls else 0.0
            passed, measured = share <= check.max_share, f"{share:.6g} ({found.nulls or 0} of {found.rows or 0} rows)"
        case TimeRange():
            passed, measured = _time_range(check, found, now_ms)
        case UniqueKey():
            passed, measured = not found.duplicates, _duplicates(found)
        case SampleSql():
            value = found.row[0] if found.row else None
            passed, measured = bool(found.row) and check.expect.holds(value), repr(value) if found.row else "no row"
    return Outcome(check.name, check.kind, check.level, passed, measured[:_LONGEST], _allowed(check, found, now_ms))


def _row_count(check: RowCount, found: Measured) -> tuple[bool, str]:
    rows, low, high = found.rows or 0, *_row_bounds(check, found)
    before = "nothing is replaced" if found.previous_rows is None else f"{found.previous_rows} are replaced"
    return (low is None or rows >= low) and (high is None or rows <= high), f"{counted(rows, 'row')}, {before}"


def _row_bounds(check: RowCount, found: Measured) -> tuple[float | None, float | None]:
    """Absolute limits and those against the previous snapshot together. Against nothing, or no rows, ratios say
    nothing.
    """
    before = found.previous_rows
    lows = [check.min_rows, check.min_ratio * before if check.min_ratio is not None and before else None]
    highs = [check.max_rows, check.max_ratio * before if check.max_ratio is not None and before else None]
    return max((x for x in lows if x is not None), default=None), min((x for x in highs if x is not None), default=None)


def _time_range(check: TimeRange, found: Measured, now_ms: int) -> tuple[bool, str]:
    first, last = found.first_ms, found.last_ms
    if first is None or last is None:
        return False, "no rows, so no times"
    passed = check.not_before is None or first >= check.not_before.at(now_ms)
    passed = passed and (check.not_after is None or last <= check.not_after.at(now_ms))
    passed = passed and (check.max_age_ms is None or last >= now_ms - check.max_age_ms)
    return passed, f"{moment(first)} to {moment(last)}"


def _duplicates(found: Measured) -> str:
    if not found.duplicates:
        return "no key twice"
    shown = [f"({', '.join(map(str, d[:-1]))}) {d[-1]} times" for d in found.duplicates[:_SHOWN]]
    return "; ".join(shown) + (" and more" if len(found.duplicates) > _SHOWN else "")


def _allowed(check: Check, found: Measured, now_ms: int) -> str:
    match check:
        case RowCount():
            low, high = _row_bounds(check, found)
            return _between(None if low is None else f"{low:.12g}", None if high is None else f"{high:.12g}") + " rows"
        case NullShare():
            return f"at most {check.max_share:.6g} of '{check.column}'"
        case TimeRange():
            lows = [check.not_before.at(now_ms)] if check.not_before else []
            text = _between(
                moment(lows[0]) if lows else None, moment(check.not_after.at(now_ms)) if check.not_after else None
            )
            fresh = "" if check.max_age_ms is None else f", the last from {moment(now_ms - check.max_age_ms)} on"
            return text + fresh
        case UniqueKey():
            return f"every ({', '.join(check.columns)}) once"
        case SampleSql():
            return check.expect.text


def _between(low: str | None, high: str | None) -> str:
    if low is not None and high is not None:
        return f"{low} to {high}"
    return f"from {low}" if low is not None else f"up to {high}" if high is not None else "any"


def moment(millis: int) -> str:
    """ISO text in UTC; the number itself where no calendar reaches."""
    try:
        return datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return f"{millis} ms"


def _comparable(value: Any, operand: float | str) -> Any:
    """The value in the operand's type, None when it has none."""
    if value is None or isinstance(operand, str):
        return None if value is None else str(value)
    try:
        number = value if isinstance(value, int) else float(value)
    except (TypeError, ValueError):
        return None
    return None if math.isnan(number) else number


def _holds(operator: str, found: list[Any], wanted: list[Any]) -> bool:
    value, first = found[0], wanted[0]
    match operator:
        case "=":
            return bool(value == first)
        case "!=":
            return bool(value != first)
        case "<":
            return bool(value < first)
        case "<=":
            return bool(value <= first)
        case ">":
            return bool(value > first)
        case ">=":
            return bool(value >= first)
    return bool(first <= value and found[1] <= wanted[1])
