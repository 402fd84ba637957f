"""Whether brokers show a switch: each of those that say who they are, enough answers in a row of those that do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from segments.clusters.pinot.replacement.routing import Shown, expect, wait_until_shown
from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.services.core.context import Context, Limits
from segments.services.replacement.lineage_record import observe
from segments.store import paths
from tests.pinot_cluster.fake_broker import FakeBroker
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.services.world import TABLE

pytestmark = pytest.mark.django_db

BEFORE = Lineage(TABLE.typed, {"e": Entry("e", ("a",), ("b",), State.IN_PROGRESS, 1)})
AFTER = Lineage(TABLE.typed, {"e": Entry("e", ("a",), ("b",), State.COMPLETED, 2)})


def shown_by(ctx: Context, before: Lineage = BEFORE) -> Shown:
    """What brokers show of the switch to ``AFTER``."""
    return wait_until_shown(ctx, TABLE, expect(ctx, TABLE, before, AFTER, observe(ctx, TABLE)))


class Named(FakeBroker):
    """Brokers in turn; each says its name, or not."""

    names: tuple[str, ...] = ()

    def query(self, sql: str, options: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The answer with a name."""
        answer = super().query(sql, options)
        return answer | ({"brokerId": self.names[len(self.asked) % len(self.names)]} if self.names else {})


@pytest.fixture
def switched(pinot: PinotCluster) -> tuple[PinotCluster, Named]:
    """Two brokers are alive; b is visible instead of a."""
    from segments.domain.formats.znrecord import ZNRecord
    from segments.domain.replacement.lineage import to_record

    pinot.inside.upload("b")
    pinot.inside.memory.create(paths.lineage(TABLE.typed), to_record(AFTER))
    for name in ("Broker_h1_1", "Broker_h2_1"):
        pinot.inside.memory.create(paths.live_instance(name), ZNRecord(name))
    broker = Named(pinot.inside)
    pinot.ctx = replace(pinot.ctx, engine=replace(pinot.ctx.engine, broker=broker), limits=Limits(broker_ack_s=60.0))
    return pinot, broker


def test_every_broker_that_says_who_it_is_is_heard_of(switched: tuple[PinotCluster, Named]) -> None:
    pinot, broker = switched
    broker.names = ("Broker_h1_1", "Broker_h2_1")
    shown = shown_by(pinot.ctx)
    assert (shown.verified, shown.brokers, len(broker.asked)) == (True, ("Broker_h1_1", "Broker_h2_1"), 2)


def test_the_only_live_broker_is_asked_until_it_answers_right_once(switched: tuple[PinotCluster, Named]) -> None:
    pinot, broker = switched
    pinot.inside.memory.delete(paths.live_instance("Broker_h2_1"))
    broker.old, broker.late = ["a"], 2
    shown = shown_by(pinot.ctx)
    assert (shown.verified, shown.sentence, len(broker.asked)) == (True, "1 broker answers from it.", 2 + 1)


def test_the_only_live_broker_is_asked_for_its_routing_where_it_gives_it(switched: tuple[PinotCluster, Named]) -> None:
    pinot, broker = switched
    pinot.inside.memory.delete(paths.live_instance("Broker_h2_1"))
    broker.has_routing, broker.old, broker.late = True, ["a"], 2
    shown = shown_by(pinot.ctx)
    assert (shown.verified, shown.sentence) == (True, "1 broker answers from it.")
    assert (broker.routings, broker.asked) == (3, [])


def test_of_several_brokers_routings_are_not_read_since_they_do_not_say_whose_they_are(
    switched: tuple[PinotCluster, Named],
) -> None:
    pinot, broker = switched
    broker.has_routing, broker.names = True, ("Broker_h1_1", "Broker_h2_1")
    assert shown_by(pinot.ctx).verified
    assert (broker.routings, len(broker.asked)) == (0, 2)


def test_where_no_broker_is_known_to_be_alive_two_answers_in_a_row_are_wanted(
    switched: tuple[PinotCluster, Named],
) -> None:
    pinot, broker = switched
    for name in ("Broker_h1_1", "Broker_h2_1"):
        pinot.inside.memory.delete(paths.live_instance(name))
    assert (shown_by(pinot.ctx).verified, len(broker.asked)) == (True, 2)


def test_a_broker_that_is_never_heard_of_is_reported(switched: tuple[PinotCluster, Named]) -> None:
    pinot, broker = switched
    broker.names = ("Broker_h1_1",)
    shown = shown_by(pinot.ctx)
    assert not shown.verified
    assert "1 of 2 brokers answer from it" in shown.sentence


def test_of_brokers_without_names_enough_answers_in_a_row_are_wanted(switched: tuple[PinotCluster, Named]) -> None:
    pinot, broker = switched
    broker.old, broker.late = ["a"], 3
    shown = shown_by(pinot.ctx)
    assert shown.verified
    assert len(broker.asked) == 3 + 10


def test_a_query_that_fails_is_asked_again(switched: tuple[PinotCluster, Named]) -> None:
    pinot, broker = switched
    broker.failing = 1
    assert wait_until_shown(
        pinot.ctx, TABLE, expect(pinot.ctx, TABLE, BEFORE, AFTER, observe(pinot.ctx, TABLE))
    ).verified


def test_nothing_is_asked_where_nothing_changes(switched: tuple[PinotCluster, Named]) -> None:
    pinot, broker = switched
    assert shown_by(pinot.ctx, AFTER).verified
    assert broker.asked == []


def test_without_a_broker_the_answer_says_that_nobody_checked(switched: tuple[PinotCluster, Named]) -> None:
    pinot, _ = switched
    shown = shown_by(replace(pinot.ctx, engine=replace(pinot.ctx.engine, broker=None)))
    assert (shown.verified, "No broker can be asked" in shown.sentence) == (False, True)
