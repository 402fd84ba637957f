"""A table's checks decide whether an end may switch, over both kinds of cluster (rule `checked-before-switch`); what
measures rows, columns and queries is tried per kind, as each reads the hidden side in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from segments.domain.tables.schema import parse_schema
from segments.errors import PreconditionFailed
from segments.services.replacement.checks import check_settings
from segments.services.replacement.checks.snapshot_checks import is_blocked, read_checks, run_checks
from segments.services.replacement.protocol import end_replace, revert_replace
from segments.store import paths
from tests.services.embedded_engine import reading
from tests.services.replacement.either_cluster import EitherCluster, SimulatedCluster
from tests.services.world import ANN

pytestmark = pytest.mark.django_db


ROWS = 10


class Rows:
    """Answers row counts by the number of segments that were named, each of ``ROWS`` rows."""

    def query(
        self, sql: str, options: Mapping[str, str] | None = None, *, segments: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """As ``SnapshotReader.query``."""
        return {"exceptions": [], "resultTable": {"rows": [[ROWS * len(segments or ())]]}}


@contextmanager
def _rows(_: str) -> Iterator[Rows]:
    yield Rows()


@pytest.fixture
def pushed(cluster: EitherCluster) -> tuple[EitherCluster, str]:
    """Segment a answers; an open replacement brings b, which is online and hidden."""
    if isinstance(cluster, SimulatedCluster):
        _make_readable(cluster)
    cluster.upload("a")
    entry = cluster.start(["a"], ["b"])
    cluster.upload("b")
    return cluster, entry


def _make_readable(simulated: SimulatedCluster) -> None:
    """A schema; and on the embedded cluster, whose world has no files, somebody who counts rows."""
    schema = parse_schema({"schemaName": "t", "dimensionFieldSpecs": [{"name": "v", "dataType": "STRING"}]})
    simulated.world.memory.create(paths.schema("t"), schema.to_record())
    if simulated.pinot is None:
        simulated.ctx = reading(simulated.ctx, _rows)


def require(cluster: EitherCluster, **check: Any) -> None:
    """Make this the table's only check."""
    check_settings.write_check_document(cluster.ctx, cluster.table, {"checks": [check]}, actor=ANN)


TOO_MANY: dict[str, Any] = {"kind": "rowCount", "min": 1000}


def test_a_check_that_fails_keeps_queries_where_they_are(pushed: tuple[EitherCluster, str]) -> None:
    cluster, entry = pushed
    require(cluster, **TOO_MANY)
    with pytest.raises(PreconditionFailed, match=rf"measured {ROWS} rows") as refused:
        end_replace(cluster.ctx, cluster.table, entry, actor=ANN)
    assert "overrideChecks" in refused.value.remedy
    assert (cluster.state(entry), cluster.visible) == ("IN_PROGRESS", ["a"])
    assert is_blocked(cluster.ctx, cluster.table, entry)
    report = read_checks(cluster.ctx, cluster.table, entry)
    assert report is not None
    assert (report.status, report.segments, report.override) == ("blocked", 1, "")


def test_a_blocked_push_is_taken_back(pushed: tuple[EitherCluster, str]) -> None:
    cluster, entry = pushed
    require(cluster, **TOO_MANY)
    with pytest.raises(PreconditionFailed):
        end_replace(cluster.ctx, cluster.table, entry, actor=ANN)
    revert_replace(cluster.ctx, cluster.table, entry, force=True, actor=ANN)
    assert (cluster.state(entry), cluster.visible) == ("REVERTED", ["a"])


def test_a_person_may_switch_all_the_same_and_is_on_record(pushed: tuple[EitherCluster, str]) -> None:
    cluster, entry = pushed
    require(cluster, **TOO_MANY)
    end_replace(cluster.ctx, cluster.table, entry, actor=ANN, override="the day was quiet")
    assert (cluster.state(entry), cluster.visible) == ("COMPLETED", ["b"])
    overridden = [e for e in cluster.events if e.action == "overrideChecks"]
    assert [(e.actor, e.reason) for e in overridden] == [(ANN.name, "the day was quiet")]


def test_a_check_that_holds_switches(pushed: tuple[EitherCluster, str]) -> None:
    cluster, entry = pushed
    require(cluster, kind="rowCount", min=ROWS)
    end_replace(cluster.ctx, cluster.table, entry, actor=ANN)
    assert (cluster.state(entry), cluster.visible) == ("COMPLETED", ["b"])
    report = read_checks(cluster.ctx, cluster.table, entry)
    assert report is not None
    assert [o.passed for o in report.outcomes] == [True]


def test_a_preview_of_checks_switches_nothing(pushed: tuple[EitherCluster, str]) -> None:
    cluster, entry = pushed
    require(cluster, **TOO_MANY)
    assert run_checks(cluster.ctx, cluster.table, entry, actor=ANN).status == "blocked"
    assert (cluster.state(entry), cluster.visible) == ("IN_PROGRESS", ["a"])
