"""Plans of statements that come again: planning costs a small query more than its rows do, on the broker and on every
server.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from segments.domain.tables.schema import Schema
from segments.domain.tables.time_boundary import TimeFilter
from segments.expressions.function import canonical
from segments.expressions.functions import FUNCTIONS

if TYPE_CHECKING:
    from segments.dataplane.query.plan import QueryPlan

_MOST: Final = 256
#: Characters of a statement, and of all that was written for its plan, up to which a plan is kept: a short text can
#: mean a huge plan.
_LONGEST: Final = 4_096
_LARGEST: Final = 20_000
_MOST_COLUMNS: Final = 500
_CLOCKS: Final = tuple(name for name, function in FUNCTIONS.items() if function.reads_clock)


@dataclass(frozen=True, slots=True)
class Planned:
    """What a plan depends on, besides the schema: text, its side of a hybrid table, the rows that are wanted instead of
    its LIMIT, and the most that a LIMIT may be.
    """

    sql: str
    time_filter: TimeFilter | None
    rows: int | None
    most_rows: int


class KnownPlans:
    """The plans used last, by statement and schema. Safe between threads. A schema is the same only as the same object:
    one that changed is another.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plans: OrderedDict[tuple[Planned, int], tuple[Schema, QueryPlan]] = OrderedDict()

    def get(self, planned: Planned, schema: Schema) -> QueryPlan | None:
        """The plan, whose options are those of another query."""
        key = planned, id(schema)
        with self._lock:
            found = self._plans.get(key)
            if found is None:
                return None
            self._plans.move_to_end(key)
        return found[1]

    def put(self, planned: Planned, schema: Schema, plan: QueryPlan, characters: int) -> None:
        """Keep it, unless it is large (``characters`` were written for it) or holds the moment at which it was
        planned. The schema is kept with it, so that its id stays its own.
        """
        if len(planned.sql) > _LONGEST or characters > _LARGEST or len(plan.reads) > _MOST_COLUMNS:
            return
        if reads_clock(planned.sql):
            return
        with self._lock:
            self._plans[planned, id(schema)] = schema, plan
            if len(self._plans) > _MOST:
                self._plans.popitem(last=False)


def reads_clock(sql: str) -> bool:
    """May a function of this text read the clock? Also true for other words that hold the name of one."""
    text = canonical(sql)
    return any(name in text for name in _CLOCKS)
