"""Wait until a real Pinot's brokers answer from a lineage that was just switched: they get a message and confirm
nothing themselves.

Their routing tables, or queries, show which side a broker reads (``broker_side``). Each answer comes from one broker,
so they are asked until every broker that says who it is shows the new side alone, or enough answers in a row do.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from segments.clusters.pinot.connected_engine import sql_broker
from segments.clusters.pinot.replacement.broker_side import BrokerSide, Expected
from segments.domain.formats.plural import counted
from segments.domain.replacement.lineage import Lineage
from segments.errors import PinotAdminError
from segments.gateways.pinot import PinotRefused
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.segments.online import live_instance_names
from segments.services.segments.segments import read_records

log = logging.getLogger(__name__)

#: Segments of each side that a query names; more show nothing more, since a routing is built as a whole.
_SAMPLE: Final = 20
#: Pauses between queries of who is behind: most brokers have read the message some milliseconds after Pinot answered.
_FIRST_S: Final = 0.002
_POLL_S: Final = 0.02
_FAILED_S: Final = 0.2
#: So many quick queries; whoever is still behind then is queried less often.
_OFTEN: Final = 50
#: Part of the time after which a broker that is still behind is taken not to have got the message, and is asked to read
#: itself.
MESSAGE_LOST: Final = 0.3
#: Seconds until what was reported as done is checked again.
LATER_S: Final = 2.0
#: Answers in a row for each broker that does not say who it is.
_EACH: Final = 5


@dataclass(frozen=True)
class Shown:
    """``verified``: all brokers show it; ``sentence`` says so, or why it could not be verified."""

    verified: bool
    sentence: str
    brokers: tuple[str, ...] = ()

    def detail(self) -> dict[str, Any]:
        """For the audit record."""
        return {
            "brokersVerified": self.verified,
            "brokersSaid": self.sentence,
            **({"brokers": list(self.brokers)} if self.brokers else {}),
        }


def expect(ctx: Context, table: TableName, before: Lineage, after: Lineage, seen: Observed) -> Expected:
    """What brokers answer once they read ``after``; ``seen`` is the state right before the switch."""
    hidden, visible = _samples(ctx, table, before, after, seen.ideal.maps)
    live = seen.live or live_instance_names(ctx)
    return Expected(hidden, visible, [i for i in live if i.startswith("Broker_")])


def wait_until_shown(ctx: Context, table: TableName, expected: Expected) -> Shown:
    """Wait at most ``limits.broker_ack_s``; never raises for what brokers answer."""
    if not expected.hidden and not expected.visible:
        return Shown(True, "Queries see the same segments as before.")
    if sql_broker(ctx) is None:
        return Shown(False, "No broker can be asked, so it was not verified what queries see.")
    return _poll(ctx, table, expected)


def show(ctx: Context, table: TableName, before: Lineage, after: Lineage) -> Shown:
    """``shown`` for these lineages, by the table's ideal state as it is now."""
    return shown(ctx, table, lambda: expect(ctx, table, before, after, observe(ctx, table)))


def shown(ctx: Context, table: TableName, expected: Callable[[], Expected]) -> Shown:
    """Wait for the brokers after a switch that is done: that it cannot be verified is reported and logged, and is no
    error.
    """
    try:
        found = wait_until_shown(ctx, table, expected())
    except PinotAdminError as error:
        found = Shown(False, f"Whether brokers show it could not be verified: {error}")
    if not found.verified:
        log.warning("Switch of %s: %s", table, found.sentence)
    return found


def carried_out(ctx: Context, table: TableName, brokers: Sequence[str], expected: Callable[[], Expected]) -> Shown:
    """As ``shown`` when each of these brokers has built its routing again. What they answer is checked a moment later,
    when nobody waits: a broker whose building failed has carried out its message, too.
    """
    later = threading.Timer(LATER_S, check, (ctx, table, expected))
    later.daemon = True
    later.start()
    text = f"{counted(len(brokers), 'broker')} built {'its' if len(brokers) == 1 else 'their'} routing again."
    return Shown(True, text, tuple(brokers))


def check(ctx: Context, table: TableName, expected: Callable[[], Expected]) -> None:
    """Have brokers build their routing again when one answers from another side than it should, unless the table was
    switched again meanwhile.
    """
    broker = sql_broker(ctx)
    if broker is None:
        return
    try:
        wanted = expected()
        side = BrokerSide(broker, table, wanted)
        wrong = next((a.wrong for a in (side.ask() for _ in wanted.brokers) if a.wrong and not a.has_failed), "")
        if wrong and _is_still_wanted(ctx, table, wanted):
            log.warning("Switch of %s: %s", table, wrong)
            _rebuild(ctx, table)
    except PinotAdminError as error:
        log.info("What brokers answer of %s could not be checked: %s", table, error)


def _is_still_wanted(ctx: Context, table: TableName, wanted: Expected) -> bool:
    seen = observe(ctx, table)
    visible = set(seen.lineage.visible(seen.ideal.maps))
    return visible.isdisjoint(wanted.hidden) and visible.issuperset(wanted.visible)


def _samples(
    ctx: Context, table: TableName, before: Lineage, after: Lineage, ideal: Iterable[str]
) -> tuple[Sequence[str], Sequence[str]]:
    """(segments that must not answer any more, segments with rows that must)."""
    names = {*ideal, *before.mentioned(), *after.mentioned()}
    was, will = set(before.visible(names)), set(after.visible(names))
    fresh = sorted((will - was) & set(ideal))[:_SAMPLE]
    records = read_records(ctx, table, fresh)
    return sorted(was - will)[:_SAMPLE], [s for s in fresh if s in records and records[s].total_docs]


def _poll(ctx: Context, table: TableName, expected: Expected) -> Shown:
    broker = sql_broker(ctx)
    assert broker is not None
    side, right, asked, seen, is_notified = BrokerSide(broker, table, expected), 0, 0, set[str](), False
    nudge_at = time.monotonic() + MESSAGE_LOST * ctx.limits.broker_ack_s
    deadline = time.monotonic() + ctx.limits.broker_ack_s
    while True:
        answer = side.ask()
        if answer.is_right:
            right += 1
            seen |= {answer.broker} if answer.broker else set()
            if (done := _enough(right, seen, len(expected.brokers))) is not None:
                return done
        else:
            right, seen = 0, set()
        if time.monotonic() > deadline:
            return _not_verified(ctx, answer.wrong)
        asked += 1
        if answer.wrong and not is_notified and time.monotonic() > nudge_at:
            is_notified = True
            _rebuild(ctx, table)
        if answer.wrong:
            time.sleep(min(_POLL_S, _FIRST_S * asked) if not answer.has_failed and asked < _OFTEN else _FAILED_S)


def _not_verified(ctx: Context, last: str) -> Shown:
    text = f"Pinot has switched; that all brokers show it was not verified within {ctx.limits.broker_ack_s:.0f} s"
    return Shown(False, f"{text}: {last}".rstrip(".: ") + ".")


def _rebuild(ctx: Context, table: TableName) -> None:
    """Pinot notifies its brokers once, in a message that is lost when the controller ends at that moment
    (rule `lineage-clean-up`).
    """
    broker = sql_broker(ctx)
    assert broker is not None
    try:
        if broker.rebuild_routing(table.typed):
            log.warning(
                "A broker still answered from the side of %s that was left: it was asked to build its routing again.",
                table,
            )
    except (PinotAdminError, PinotRefused) as error:
        log.warning("A broker could not be asked to build its routing of %s again: %s", table, error)


def _enough(right: int, seen: set[str], live: int) -> Shown | None:
    """The result after so many right answers in a row, None: ask on. The only live broker answers once: what it has
    read of the lineage it does not unlearn. Brokers that say who they are must all be heard of; of others so many
    answers are wanted that one of them is hardly left out (each answer is a random one's).
    """
    brokers = max(live, 1)
    needed = live if live == 1 else max(2, _EACH * live)
    if right < min(needed, 2) or (len(seen) < brokers and right < (2 * needed if seen else needed)):
        return None
    if seen and len(seen) < brokers:
        text = f"{len(seen)} of {brokers} brokers answer from it; the others were not heard of in {right} answers."
        return Shown(False, text, tuple(sorted(seen)))
    if seen or brokers == 1:
        return Shown(True, f"{brokers} broker{'s answer' if brokers > 1 else ' answers'} from it.", tuple(sorted(seen)))
    return Shown(True, f"{right} answers in a row, of {brokers} brokers that do not say who they are, come from it.")
