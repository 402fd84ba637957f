"""Real parts for these tests, each started once: Apache Pinot, Apache Kafka, and an installation of ours. Skipped
unless requested.

Where REAL_PARTS_SECONDS is set, tests that would begin later than so many seconds after the first one are skipped.
"""

from __future__ import annotations

import base64
import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.integration.running import Client, Installation
from tests.maven import CLIENTS, PINOT
from tests.real_pinot.cluster import RealPinot, add_to, running
from tests.streams import kafka_broker
from tests.streams.kafka_broker import KafkaBroker

_BEGAN = time.monotonic()


@pytest.fixture(scope="session")
def _is_asked_for() -> None:
    if os.environ.get("REAL_PINOT") != "1":
        pytest.skip("starts a real Apache Pinot: run `make test-real`, or set REAL_PINOT=1")
    for jars in (PINOT, CLIENTS):
        assert jars.is_complete, f"{jars.name} is not in {jars.folder}; `make test-real` fetches it"


@pytest.fixture(autouse=True)
def _has_time(_is_asked_for: None) -> None:
    """Continuous integration has only so much time."""
    seconds = float(os.environ.get("REAL_PARTS_SECONDS") or "inf")
    if time.monotonic() - _BEGAN > seconds:
        pytest.skip(f"the {seconds:.0f} s for tests with real parts are over on this machine")


@pytest.fixture(autouse=True, scope="module")
def _leaves_nothing_open() -> Iterator[None]:
    """A connection that a module's tests left open is reported here, by a warning that is an error; else when all is
    over, by no test.
    """
    yield
    gc.collect()


@pytest.fixture(scope="session")
def pinot(_is_asked_for: None, request: pytest.FixtureRequest) -> Iterator[RealPinot]:
    """One real Pinot for all tests of this folder."""
    with running(lambda: bool(request.session.testsfailed)) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def kafka(_is_asked_for: None) -> Iterator[KafkaBroker]:
    """One real Kafka."""
    with kafka_broker.running() as broker:
        yield broker


@pytest.fixture(scope="session")
def input_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that our installation may read and that real parts write to."""
    return tmp_path_factory.mktemp("input")


@pytest.fixture(scope="session")
def installation(
    _is_asked_for: None, tmp_path_factory: pytest.TempPathFactory, input_root: Path
) -> Iterator[Installation]:
    """A whole installation of ours with two servers."""
    folder = tmp_path_factory.mktemp("installation") / "data"
    allowed = {"PINOTADMIN_URI_PUSH_ROOTS": f"file://{input_root}"}
    started = Installation(folder, "--input-root", str(input_root), settings=allowed).start(240)
    yield started
    assert started.stop() == 0, started.log.read_text()[-4000:]


@pytest.fixture
def client(installation: Installation) -> Client:
    """The administrator's client of our installation."""
    installation.wait_healthy(120)
    return Client(installation.endpoints)


@pytest.fixture(scope="session")
def clusters(pinot: RealPinot, installation: Installation) -> Installation:
    """Our installation, which drives the real Pinot as cluster ``real`` (with its ZooKeeper) and as ``restonly`` (over
    REST alone).
    """
    for name in ("real", "restonly"):
        add_to(installation, pinot, name, has_zookeeper=name == "real")
    return installation


def client_of(installation: Installation, cluster: str) -> Client:
    """The administrator's client of ``/clusters/NAME``."""
    ends = installation.endpoints
    return Client({**ends, "controller": f"{ends['controller']}/clusters/{cluster}"})


@pytest.fixture(params=["real", "restonly"])
def each(request: pytest.FixtureRequest, clusters: Installation) -> Client:
    """Each of the two, in turn."""
    return client_of(clusters, request.param)


@pytest.fixture
def real(clusters: Installation) -> Client:
    """The cluster with ZooKeeper."""
    return client_of(clusters, "real")


@pytest.fixture
def page(browser: Browser, clusters: Installation) -> Iterator[Page]:
    """Logged in through the form as the administrator."""
    context = browser.new_context(base_url=clusters.endpoints["controller"], viewport={"width": 1280, "height": 900})
    context.set_default_timeout(30_000)
    page = context.new_page()
    user, password = base64.b64decode(clusters.endpoints["authorization"].removeprefix("Basic ")).decode().split(":", 1)
    page.goto("/")
    page.get_by_label("User name").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Tables").wait_for()
    yield page
    context.close()
