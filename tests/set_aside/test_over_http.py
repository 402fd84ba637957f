"""Reports over HTTP: signed so that the web process takes them, and believed only when the answer is signed, too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from segments.errors import InvalidInput, Unavailable
from segments.gateways.set_aside_reports import HttpReports
from segments.gateways.signed_calls import CallSigner
from tests.set_aside.signed_web import SECRET, Web, running_web


@pytest.fixture
def web() -> Iterator[Web]:
    with running_web() as made:
        yield made


@pytest.fixture
def reports(web: Web) -> Iterator[HttpReports]:
    """Of two addresses the first is dead."""
    made = HttpReports(["http://127.0.0.1:1", f"{web.url}/"], CallSigner(SECRET), timeout_s=5.0)
    yield made
    made.close()


def test_a_report_reaches_the_web_process_that_answers(web: Web, reports: HttpReports) -> None:
    reports.send("odd name_REALTIME", b'{"id": "1"}')
    assert web.taken == [("/api/v1/tables/odd%20name_REALTIME/set-aside", b'{"id": "1"}')]


@pytest.mark.parametrize(
    ("status", "is_signed", "error"),
    [
        (400, True, InvalidInput),
        (404, True, InvalidInput),
        (404, False, Unavailable),
        (200, False, Unavailable),
        (401, True, Unavailable),
        (500, True, Unavailable),
        (503, False, Unavailable),
    ],
)
def test_only_a_signed_refusal_is_one_for_good(
    web: Web, reports: HttpReports, status: int, is_signed: bool, error: type[Exception]
) -> None:
    web.status, web.is_signed = status, is_signed
    with pytest.raises(error):
        reports.send("r_REALTIME", b"{}")
