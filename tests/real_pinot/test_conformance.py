"""Parts of the black-box suite against real parts: a real Pinot directly and through us, and our own cluster on a real
Kafka.

The whole of it is `make conformance-real`. The suite is not part of this repository.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance_run import SUITE, WITHOUT_PAUSELESS, needs_suite, run_suite
from tests.integration.running import Installation
from tests.real_pinot.cluster import RealPinot
from tests.real_pinot.conformance import Target, run
from tests.real_pinot.differences import Way
from tests.streams.kafka_broker import KafkaBroker

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(600), needs_suite]


@pytest.mark.parametrize(
    ("way", "file"),
    [("direct", "test_tables.py"), ("through", "test_tables.py"), ("through", "realtime/test_force_commit.py")],
)
def test_a_part_of_the_suite_shows_the_known_differences_and_no_other(
    pinot: RealPinot, clusters: Installation, kafka: KafkaBroker, way: Way, file: str
) -> None:
    result = run(SUITE.resolve(), Target(pinot, kafka.bootstrap, clusters), way, file)
    assert not result.surprises, "\n".join([*result.surprises, result.output[-6000:]])
    assert result.seen.passed


def test_the_realtime_suite_passes_on_our_own_cluster_with_a_real_kafka(
    installation: Installation, kafka: KafkaBroker, tmp_path: Path
) -> None:
    installation.wait_healthy(120)
    stream = {"STREAM": "kafka", "KAFKA_BOOTSTRAP": kafka.bootstrap}
    arguments = ["-q", "--tb=short", "-k", WITHOUT_PAUSELESS, "realtime"]
    done = run_suite(SUITE.resolve(), installation.endpoints, tmp_path, arguments, capture=True, more=stream)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
