"""Metadata of a segment that was read again, handed to a web process over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.errors import Unavailable
from segments.gateways.reingested_uploads import HttpReingestedUploads, Rejected
from segments.gateways.signed_calls import CallSigner
from segments.gateways.web_addresses import GivenAddresses
from tests.set_aside.signed_web import SECRET, Web, running_web

_DEAD = "http://127.0.0.1:1"


@pytest.fixture
def web() -> Iterator[Web]:
    with running_web() as made:
        yield made


@pytest.fixture
def known(web: Web) -> GivenAddresses:
    """Of two addresses the first is dead."""
    return GivenAddresses([_DEAD, web.url])


@pytest.fixture
def uploads(known: GivenAddresses) -> Iterator[HttpReingestedUploads]:
    made = HttpReingestedUploads(known, CallSigner(SECRET), timeout_s=5.0)
    yield made
    made.close()


@pytest.fixture
def metadata(tmp_path: Path) -> Path:
    (file := tmp_path / "s.tar.gz").write_bytes(b"metadata")
    return file


def test_the_web_process_that_took_one_is_asked_first_for_the_next(
    web: Web, known: GivenAddresses, uploads: HttpReingestedUploads, metadata: Path
) -> None:
    uploads.register("r", "s", "store:///r/s", metadata)
    assert [path for path, _ in web.taken] == ["/segments/reingested?tableName=r"]
    assert known.urls() == (web.url, _DEAD)


def test_one_that_refuses_has_answered(
    web: Web, known: GivenAddresses, uploads: HttpReingestedUploads, metadata: Path
) -> None:
    web.status = 409
    with pytest.raises(Rejected):
        uploads.register("r", "s", "store:///r/s", metadata)
    assert known.urls() == (web.url, _DEAD)
    assert len(web.taken) == 1


def test_one_that_fails_is_not_preferred(
    web: Web, known: GivenAddresses, uploads: HttpReingestedUploads, metadata: Path
) -> None:
    web.status = 503
    with pytest.raises(Unavailable):
        uploads.register("r", "s", "store:///r/s", metadata)
    assert known.urls() == (_DEAD, web.url)
