"""The bench of a session's page knows the columns that the mirror writes."""

from __future__ import annotations

import pytest

from bench.ingestion import session_page


@pytest.mark.django_db
def test_the_page_of_a_session_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    session_page.measure(5)
    printed = capsys.readouterr().out
    assert "5 files mirrored" in printed
    assert [line.partition(":")[0] for line in printed.splitlines()[1:]] == ["page", "filtered", "live part"]
