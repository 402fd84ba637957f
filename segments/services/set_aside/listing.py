"""What is kept of a table's messages: pages by partition, reason and state, and the numbers above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from django.db.models import Count, Max, Q, QuerySet

from segments.domain.set_aside import shown_payload, shown_reason
from segments.errors import InvalidInput, NotFound
from segments.models import SetAsideCount, SetAsideMessage, SetAsideReplay
from segments.names import TableName
from segments.services.access.rights import has_right
from segments.services.core.context import Context
from segments.services.set_aside.keeping import check_table, of_table

State = Literal["waiting", "replayed", "all"]
STATES: Final[tuple[State, ...]] = ("waiting", "replayed", "all")
#: Characters of a reason that are searched for.
_LONGEST_SEARCH: Final = 200


@dataclass(frozen=True)
class Which:
    """Which messages are meant; ``reason`` is a part of the reason's text, ``ids`` None: all that fit the rest."""

    partition: int | None = None
    reason: str = ""
    state: State = "waiting"
    ids: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Totals:
    """Of one table. ``waiting``: nobody replayed or deleted them; ``dropped_*``: how many were not kept, see
    ``SetAsideCount``.
    """

    waiting: int
    replayed: int
    newest: datetime | None
    dropped_by_servers: int
    dropped_oldest: int
    partitions: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """For REST."""
        return {
            "waiting": self.waiting,
            "replayed": self.replayed,
            "newest": self.newest.isoformat() if self.newest else None,
            "droppedByServers": self.dropped_by_servers,
            "droppedOldest": self.dropped_oldest,
            "partitions": list(self.partitions),
        }


def chosen(ctx: Context, table: TableName, which: Which) -> QuerySet[SetAsideMessage]:
    """The messages that are meant, newest first."""
    found = of_table(ctx.cluster, table)
    if which.ids is not None:
        found = found.filter(pk__in=which.ids)
    if which.partition is not None:
        found = found.filter(partition=which.partition)
    if which.reason:
        found = found.filter(
            Q(reason__icontains=which.reason[:_LONGEST_SEARCH]) | Q(column=which.reason[:_LONGEST_SEARCH])
        )
    if which.state != "all":
        found = found.filter(replay__isnull=which.state == "waiting")
    return found.select_related("replay").order_by("-pk")


def totals(cluster: str, table: TableName) -> Totals:
    """The numbers of a table."""
    kept = of_table(cluster, table)
    numbers = kept.aggregate(
        waiting=Count("pk", filter=Q(replay=None)), replayed=Count("replay"), newest=Max("noticed_at")
    )
    lost = SetAsideCount.objects.filter(cluster=cluster, table_name=table.typed).first()
    partitions = tuple(kept.order_by("partition").values_list("partition", flat=True).distinct())
    return Totals(
        numbers["waiting"], numbers["replayed"], numbers["newest"], lost.dropped_by_servers if lost else 0,
        lost.dropped_oldest if lost else 0, partitions,
    )  # fmt: skip


def may_see_payloads(user: Any, cluster: str, table: TableName) -> bool:
    """Payloads are rows, and more: whoever may query the table and operate it sees them, with secrets masked."""
    return has_right(user, "operate", cluster, table.typed) and has_right(user, "query", cluster, table.typed)


def one_message(ctx: Context, table: TableName, number: int) -> SetAsideMessage:
    """NotFound when it is not kept (any more)."""
    check_table(ctx, table)
    found = chosen(ctx, table, Which(state="all", ids=(number,))).first() if number < 1 << 63 else None
    if found is None:
        raise NotFound(f"Message {number} of {table} is not kept (any more).", remedy="List the messages again.")
    return found


def message_json(message: SetAsideMessage, *, with_payload: bool) -> dict[str, Any]:
    """One message for REST and exports; ``payload`` is None for bytes that are not text, and for who may not see it."""
    shown = shown_payload(bytes(message.payload), is_cut=message.is_cut) if with_payload else None
    return {
        "id": message.pk,
        "partition": message.partition,
        "topic": message.topic,
        "offset": message.offset,
        "segment": message.segment,
        "noticedAt": message.noticed_at.isoformat(),
        "sentAt": message.sent_at.isoformat() if message.sent_at else None,
        "column": message.column or None,
        "reason": reason_of(message),
        "bytes": message.size,
        "isCut": message.is_cut,
        "state": state_of(message.replay),
        "replay": str(message.replay_id) if message.replay_id else None,
        "payload": shown.text if shown else None,
        "isMasked": shown.is_masked if shown else None,
    }


def reason_of(message: SetAsideMessage) -> str:
    """Why it gave no row, without secrets."""
    return shown_reason(message.reason, bytes(message.payload))


def state_of(replay: SetAsideReplay | None) -> str:
    """What became of a message, in one word."""
    if replay is None:
        return "waiting"
    return "replaying" if replay.state == SetAsideReplay.State.RUNNING else "replayed"


def read_state(text: str | None) -> State:
    """The state as a parameter names it. InvalidInput."""
    found = next((s for s in STATES if s == (text or "waiting")), None)
    if found is None:
        raise InvalidInput(
            f"'state' must be {', '.join(STATES)}, not '{(text or '')[:40]}'.", remedy="Write state=waiting."
        )
    return found


def keys(messages: Sequence[SetAsideMessage]) -> list[str]:
    """Partition and offset of messages, for the record."""
    return [f"{m.partition}:{m.offset}" for m in messages]
