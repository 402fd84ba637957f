"""One authority for all tests of a run, which makes a certificate of this machine, and one that nobody believes."""

from __future__ import annotations

import pytest

from segments.gateways.tls.certificate import Certificate
from tests.tls.files import HAS_OPENSSL, MISSING, Authority, new_authority


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The cluster's own."""
    if not HAS_OPENSSL:
        pytest.skip(MISSING)
    return new_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Somebody else's."""
    if not HAS_OPENSSL:
        pytest.skip(MISSING)
    return new_authority(tmp_path_factory.mktemp("stranger"))


@pytest.fixture(scope="session")
def certificate(authority: Authority) -> Certificate:
    """Of 127.0.0.1."""
    return authority.sign("127.0.0.1")
