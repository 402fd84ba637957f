"""A world whose server loads and drops segments as soon as the ideal state says so, and what queries of it see."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segments.domain.formats.znrecord import ZNRecord
from segments.services.replacement.protocol import end_replace, start_replace
from segments.services.segments import deletion
from segments.services.upkeep import retention
from segments.store import paths
from segments.store.base import Versioned, Write
from segments.store.memory import MemoryStore
from tests.services.world import ANN, TABLE, World


class ServingStore(MemoryStore):
    """Follows every change of the ideal state in the external view, and remembers what queries saw after it."""

    world: World | None = None

    def transaction(self, writes: Sequence[Write]) -> None:
        super().transaction(writes)
        self._follow([w.path for w in writes])

    def replace(self, path: str, record: ZNRecord, version: int) -> Versioned:
        found = super().replace(path, record, version)
        self._follow([path])
        return found

    def _follow(self, changed: Sequence[str]) -> None:
        if self.world is not None and {paths.ideal_state(TABLE.typed), paths.lineage(TABLE.typed)}.intersection(
            changed
        ):
            self.world.serve()
            self.seen.append(tuple(self.world.visible))

    @property
    def seen(self) -> list[tuple[str, ...]]:
        """Visible segments after each change of lineage or ideal state, in order."""
        return self.__dict__.setdefault("_seen", [])


class ServingWorld(World):
    """As ``World``; ``seen`` are the different sets of segments that queries saw, in order."""

    def __init__(self, folder: Path, **more: Any) -> None:
        super().__init__(folder, memory=ServingStore(), **more)
        self.memory.world = self

    def push(self, entry: str, old: Sequence[str], new: Sequence[str]) -> ServingWorld:
        """A replacement from start to end, a second after what was before."""
        self.now += 1000
        start_replace(self.ctx, TABLE, list(old), list(new), actor=ANN, entry_id=entry)
        self.upload(*new)
        end_replace(self.ctx, TABLE, entry, actor=ANN)
        self.now += 1000
        return self

    def clean(self) -> ServingWorld:
        """What the passes do: files archived, then lineage."""
        deletion.drain(self.ctx, TABLE)
        retention.run(self.ctx, TABLE)
        return self

    def seen_during(self) -> list[tuple[str, ...]]:
        """What queries saw since the last call, without repetitions."""
        found = [s for n, s in enumerate(self.memory.seen) if n == 0 or s != self.memory.seen[n - 1]]
        self.memory.seen.clear()
        return found
