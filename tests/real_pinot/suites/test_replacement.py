"""Replacements as every kind of cluster has them, on the real Pinot: visible is what its broker answers from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.services.core.context import Context
from tests.integration.running import Client, config_of, schema_of
from tests.real_pinot.cluster import RealPinot
from tests.real_pinot.suites import shared
from tests.real_pinot.suites.connected import answering, answering_soon, connected, new_table
from tests.services.replacement import (
    test_checks_before_switch,
    test_explain,
    test_replacement,
    test_rollback,
    test_snapshot_diff,
)
from tests.services.replacement.either_cluster import EitherCluster

pytestmark = shared.MARKS


class RealCluster(EitherCluster):
    """A table of the real Pinot; segments are pushed as any client of it does."""

    def __init__(self, pinot: RealPinot, ctx: Context) -> None:
        super().__init__(ctx, new_table(pinot, schema_of("t"), config_of("t", replication=1)))
        self._pinot = pinot
        self._client = Client({"controller": pinot.controller, "authorization": ""})

    def upload(self, *segments: str) -> RealCluster:
        """Build and push them, and wait for servers and broker."""
        self._client.upload(self.table.raw, *segments)
        answering_soon(self._pinot, self.ctx, self.table)
        return self

    @property
    def visible(self) -> list[str]:
        """Segments that answer the next query."""
        return answering(self._pinot, self.ctx, self.table)


@pytest.fixture(params=[True, False], ids=["over ZooKeeper", "over REST"])
def cluster(request: pytest.FixtureRequest, pinot: RealPinot, tmp_path: Path) -> Iterator[EitherCluster]:
    """An empty REFRESH table."""
    with connected(pinot, tmp_path, over_zookeeper=request.param) as ctx:
        yield RealCluster(pinot, ctx)


globals().update(shared.tests_with(test_replacement, "cluster") | shared.tests_with(test_rollback, "cluster"))
for suite, fixture in ((test_checks_before_switch, "pushed"), (test_explain, "one"), (test_snapshot_diff, "replaced")):
    globals().update(shared.tests_with(suite, "cluster") | shared.tests_with(suite, fixture))
