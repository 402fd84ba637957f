"""Gathers the reports of a push's parts, keeps them, and fails the push before its switch when too many
rows are bad.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from segments.domain.formats.storable_text import document_without_nul
from segments.domain.push.push_report import PushReport, merged, report_from_json, too_many
from segments.errors import InvalidInput
from segments.models import PushReport as Row
from segments.services.push.push_session import Session

#: Seconds for which the other parts are examined too when no row may be bad and one is: a report says more then than
#: the first file's.
_GO_ON_S: Final = 60.0
_REMEDY: Final = (
    "The report of the push lists them. Correct the files, or let some rows be left out: "
    "executionFrameworkSpec.extraConfigs.errorRate."
)


class InputReports:
    """The reports of the parts that were examined so far: {ordinal: report}."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.error_rate = float(session.push.plan.get("error_rate", 0.0))
        self.parts: dict[int, PushReport] = {}
        self._failed_at: float | None = None

    def add(self, reports: Mapping[int, Mapping[str, Any]]) -> None:
        """Take in what was found. Raises InvalidInput, when no row may be bad, some time after the first that is."""
        self.parts.update({ordinal: report_from_json(body) for ordinal, body in reports.items()})
        if self.error_rate > 0 or not any(r.bad_rows for r in self.parts.values()):
            return
        self._failed_at = self._failed_at or self.session.ctx.timer.seconds()
        if self.session.ctx.timer.seconds() - self._failed_at > _GO_ON_S:
            raise self._refusal(is_complete=False)

    def save(self, *, is_complete: bool) -> None:
        """Keep what was found so far. ``is_complete``: every part was examined."""
        if not self.parts:
            return
        self.session.check()
        report = self._merged(is_complete)
        Row.objects.update_or_create(
            push=self.session.push,
            defaults={"body": document_without_nul(report.to_json()), "error_rate": self.error_rate},
        )

    def check(self) -> None:
        """Raise InvalidInput when a larger share of the rows is bad than may be."""
        if self._merged(True).exceeds(self.error_rate):
            raise self._refusal(is_complete=True)

    def _merged(self, is_complete: bool) -> PushReport:
        return merged((self.parts[i] for i in sorted(self.parts)), is_complete=is_complete)

    def _refusal(self, *, is_complete: bool) -> InvalidInput:
        return InvalidInput(too_many(self._merged(is_complete), self.error_rate), remedy=_REMEDY)
