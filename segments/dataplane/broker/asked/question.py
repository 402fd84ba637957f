"""A query as it was asked: its text, its options, until when, and who can stop it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from segments.dataplane import query_bounds, stopping
from segments.dataplane.broker.stages import read_stages
from segments.dataplane.query import QueryRejected, table_of
from segments.dataplane.query.multistage import StagesStatement
from segments.dataplane.query.sql.explaining import explained
from segments.dataplane.query.sql.parse import parse_select
from segments.dataplane.stopping import Stop
from segments.domain.formats.whole_number import whole_number

DEFAULT_TIMEOUT_MS: Final = 10_000
#: Pinot's option: the id that the client gives its query.
CLIENT_ID: Final = "clientqueryid"


@dataclass(frozen=True)
class Question:
    """``segments``: only these, hidden or not; None: the visible ones. ``deadline`` is of ``time.monotonic``.
    ``stages``: it reads several tables; ``rows``: so many are read at most, whatever LIMIT says.
    ``is_explained``: its plan is wanted, not its answer. ``is_timed``: it says itself how long it may take.
    """

    sql: str
    options: Mapping[str, str]
    segments: tuple[str, ...] | None
    started: float
    deadline: float
    stop: Stop
    stages: StagesStatement | None = None
    rows: int | None = None
    is_explained: bool = False
    is_timed: bool = False

    @property
    def tables(self) -> Sequence[str]:
        """Names of the tables that it reads."""
        return [table_of(self.sql)] if self.stages is None else list(self.stages.tables)

    @property
    def request_id(self) -> str:
        """Its id among all queries."""
        return self.stop.query

    @property
    def client_id(self) -> str | None:
        """The id that the client gave it."""
        return next((v.strip("'\" ") for k, v in self.options.items() if k.lower() == CLIENT_ID), None)


def current_stop() -> Stop:
    """That of the query which this thread answers; one that nobody else has where nobody can cancel it."""
    stop = stopping.current()
    return stop if stop.query else Stop(uuid.uuid4().hex[:16])


def read_question(
    sql: str,
    options: Mapping[str, str],
    segments: Sequence[str] | None,
    *,
    stop: Stop,
    started: float,
    clock: Callable[[], int],
) -> Question:
    """``started`` is of ``time.monotonic``, ``clock`` gives epoch milliseconds. Raises QueryRejected."""
    inner = explained(sql)
    sql = sql if inner is None else inner
    stages = read_stages(sql, options, is_by_segment=segments is not None)
    given = {**(parse_select(sql).options if stages is None else stages.options), **options}
    timeout_ms = _timeout_ms(given)
    return Question(
        sql=sql,
        options={**given, "now": str(clock()), "timeoutMs": str(timeout_ms)},
        segments=None if segments is None else tuple(dict.fromkeys(segments)),
        started=started,
        deadline=started + timeout_ms / 1000,
        stop=stop,
        stages=stages,
        is_explained=inner is not None,
        is_timed=bool(given.get("timeoutMs")),
    )


def with_table_limits(question: Question, timeouts_ms: Sequence[int | None]) -> Question:
    """With the time that its table allows: ``query.timeoutMs`` of the config, None where it says nothing. Of the two
    halves of a hybrid table the longer time counts. As in Pinot, the option of a query comes first, and a query of
    several tables has the broker's time.
    """
    if question.is_timed or question.stages is not None or not any(timeouts_ms):
        return question
    wanted = max(ms or DEFAULT_TIMEOUT_MS for ms in timeouts_ms)
    timeout_ms = min(wanted, query_bounds.current().timeout_ms)
    return replace(
        question,
        options={**question.options, "timeoutMs": str(timeout_ms)},
        deadline=question.started + timeout_ms / 1000,
    )


def _timeout_ms(options: Mapping[str, str]) -> int:
    """``timeoutMs`` of the options, or the default."""
    text = options.get("timeoutMs") or str(DEFAULT_TIMEOUT_MS)
    timeout_ms = whole_number(text)
    if not timeout_ms:
        raise QueryRejected(f"timeoutMs must be a whole number above 0, not '{text[:40]}'.")
    return min(timeout_ms, query_bounds.current().timeout_ms)
