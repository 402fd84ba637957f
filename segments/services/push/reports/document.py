"""The report of a push as JSON, and as rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from segments.datatypes.shown_value import plain_text
from segments.domain.push.push_report import PushReport, report_from_json
from segments.domain.tables.schema import parse_schema
from segments.errors import NotFound, PinotAdminError
from segments.models import Push
from segments.models import PushReport as Row

#: Columns of ``report_rows``.
HEADER: Final = ("what", "column", "file", "line", "row", "value", "why", "count")


def find_report(push: Push) -> Row:
    """What the push found. NotFound while nothing was examined."""
    row = Row.objects.filter(push=push).first()
    if row is None:
        raise NotFound(
            f"Push '{push.pk}' has no report: none of its files was examined yet.",
            remedy="Try again when it has built segments.",
        )
    return row


def report_document(push: Push, row: Row) -> dict[str, Any]:
    """Counts, ignored columns, defaults by column, and the first bad values with their places."""
    report = report_from_json(row.body)
    values = _defaults(push)
    return {
        "push": str(push.pk), "tableName": push.table_name, "rowsRead": report.rows_read, "badRows": report.bad_rows,
        "errorRate": row.error_rate, "isComplete": report.is_complete,
        "ignoredColumns": [{"column": c, "files": n} for c, n in sorted(report.ignored.items())],
        "defaults": [{"column": c, "rows": n, "value": values.get(c)} for c, n in sorted(report.defaults.items())],
        "badValues": [b.__dict__ for b in report.bad],
    }  # fmt: skip


def report_rows(push: Push, row: Row) -> Iterator[tuple[Any, ...]]:
    """The same as rows of ``HEADER``."""
    report: PushReport = report_from_json(row.body)
    values = _defaults(push)
    for column, files in report.ignored.items():
        yield (
            "ignored column",
            column,
            "",
            "",
            "",
            "",
            "The schema has no such column; count is the number of files.",
            files,
        )
    for column, rows in report.defaults.items():
        yield (
            "default used",
            column,
            "",
            "",
            "",
            values.get(column),
            "The value was empty or missing; count is the number of rows.",
            rows,
        )
    for bad in report.bad:
        yield "bad value", bad.column, bad.file, bad.line, bad.row, bad.value, bad.why, 1


def _defaults(push: Push) -> dict[str, str]:
    """{column: what is stored instead of nothing}."""
    try:
        schema = parse_schema(push.plan.get("schema") or {})
    except PinotAdminError:
        return {}
    return {f.name: plain_text(f.default_null) for f in schema.fields}
