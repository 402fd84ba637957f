"""Checks as people read them: each rule in words, and the last results of a table's replacements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from segments.console.presenters.badges import Mark, mark
from segments.domain.replacement.checks import (
    Check,
    CheckPlan,
    CheckReport,
    NullShare,
    RowCount,
    SampleSql,
    TimeRange,
    UniqueKey,
)
from segments.errors import PinotAdminError
from segments.models import LineageEntry, Table
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.checks import snapshot_checks
from segments.store import paths

#: Results shown on a table's page.
SHOWN = 10


@dataclass(frozen=True)
class Rule:
    """One check in words; ``blocks`` False: a failure is only recorded."""

    name: str
    kind: str
    words: str
    blocks: bool


@dataclass(frozen=True)
class Result:
    """The last result of one entry's checks. ``problem``: why it cannot be shown."""

    entry: LineageEntry
    state: Mark
    report: CheckReport | None
    problem: str = ""

    @property
    def mark(self) -> Mark:
        """Passed, warned, blocked or overridden."""
        return mark(self.report.status) if self.report else Mark("not readable", "bad", "cross")

    @property
    def failed(self) -> list[str]:
        """A sentence per failed check."""
        return failures(self.report)


def rules(plan: CheckPlan) -> list[Rule]:
    """Every check of a plan, in its order."""
    return [Rule(c.name, c.kind, _words(c), c.level == "block") for c in plan.checks]


def failures(report: CheckReport | PinotAdminError | None) -> list[str]:
    """A sentence per failed check with the measured and the allowed value; those that block first."""
    return [o.sentence for o in [*report.blocking, *report.warnings]] if isinstance(report, CheckReport) else []


def entry_report(ctx: Context, name: TableName, entry_id: str) -> CheckReport | PinotAdminError | None:
    """The last result of an entry's checks, None when they never ran, the error when nobody knows."""
    try:
        return snapshot_checks.read_checks(ctx, name, entry_id) if entry_id else None
    except PinotAdminError as error:
        return error


def last_results(ctx: Context, table: Table, name: TableName) -> list[Result]:
    """Results of the newest entries that have one, newest first."""
    known = set(ctx.store.children(paths.check_reports(name.typed)))
    entries = LineageEntry.objects.filter(table=table, entry_id__in=known)[:SHOWN] if known else []
    return [_result(ctx, name, entry) for entry in entries]


def _result(ctx: Context, name: TableName, entry: LineageEntry) -> Result:
    report = entry_report(ctx, name, entry.entry_id)
    if isinstance(report, PinotAdminError):
        return Result(entry, mark(entry.state), None, str(report))
    return Result(entry, mark(entry.state), report)


def _words(check: Check) -> str:
    match check:
        case RowCount():
            return _sentence(
                [("at least {:,} rows", check.min_rows), ("at most {:,} rows", check.max_rows),
                 ("at least {:g} times the rows that are replaced", check.min_ratio),
                 ("at most {:g} times the rows that are replaced", check.max_ratio)]
            )  # fmt: skip
        case NullShare():
            return f"At most {check.max_share:.4g} of column {check.column} is null"
        case TimeRange():
            limits = [
                ("nothing before {}", check.not_before and check.not_before.text),
                ("nothing after {}", check.not_after and check.not_after.text),
                ("the last value is at most {} old", check.max_age_ms and _span(check.max_age_ms)),
            ]  # fmt: skip
            return f"{check.column or 'Time column'}: {_sentence(limits, capital=False)}"
        case UniqueKey():
            return f"No two rows share {', '.join(check.columns)}"
        case SampleSql():
            return f"{check.sql} gives {check.expect.text}"


def _sentence(parts: Iterable[tuple[str, object]], *, capital: bool = True) -> str:
    text = ", ".join(words.format(value) for words, value in parts if value is not None)
    return text[:1].upper() + text[1:] if capital else text


def _span(millis: int) -> str:
    steps: Sequence[tuple[int, str]] = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"))
    for size, unit in steps:
        if millis % size == 0:
            return f"{millis // size} {unit}"
    return f"{millis / 1000:g} s"
