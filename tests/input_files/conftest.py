"""Servers of object stores for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.input_files.gcs_server import GcsServer, start_gcs
from tests.s3_server import Front, S3Server, front_of, start_s3


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    server = start_s3()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def gcs() -> Iterator[GcsServer]:
    server = start_gcs()
    yield server
    server.stop()


@pytest.fixture
def front(s3: S3Server) -> Iterator[Front]:
    with front_of(s3) as found:
        yield found
