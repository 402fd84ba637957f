"""A store whose servers follow every change of the ideal state at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from segments.store import paths
from segments.store.base import Store
from tests.api.cluster import TABLE
from tests.faults.faulty import FaultyStore, Plan


class Served(FaultyStore):
    """A client of its own whose servers follow every change of the ideal state at once."""

    def __init__(self, inner: Store, plan: Plan, serve: Callable[[], object]) -> None:
        super().__init__(inner, plan)
        self.serve = serve

    def _write(self, writes: Any, apply: Callable[[], Any]) -> Any:
        try:
            return super()._write(writes, apply)
        finally:
            if any(w.path == paths.ideal_state(TABLE.typed) for w in writes):
                self.serve()
