"""A broker of the Pinot cluster in memory: it answers queries on ``$segmentName``, late or failing as a test wants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.services.world import World


@dataclass
class FakeBroker:
    """Answers queries on ``$segmentName``. ``late``: so many answers show the ``old`` segments of before the switch;
    ``failing`` ones fail.
    """

    world: World
    late: int = 0
    failing: int = 0
    old: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    rebuilt: list[str] = field(default_factory=list)
    is_reached: bool = True
    has_routing: bool = False
    routings: int = 0

    def routed_segments(self, table: str) -> set[str] | None:
        """What its queries go to, if it ``has_routing`` to show; late as its queries are."""
        if not self.has_routing:
            return None
        self.routings += 1
        if self.late > 0:
            self.late -= 1
            return set(self.old)
        return set(self.world.visible)

    def rebuild_routing(self, table: str) -> bool:
        """It reads the lineage now, if it is ``is_reached``."""
        if not self.is_reached:
            return False
        self.rebuilt.append(table)
        self.late = 0
        return True

    def query(self, sql: str, options: Mapping[str, str] | None = None) -> dict[str, Any]:
        """A broker response."""
        self.asked.append(sql)
        if self.failing > 0:
            self.failing -= 1
            return {"exceptions": [{"errorCode": 305, "message": "2 segments unavailable"}]}
        visible = self.world.visible
        if self.late > 0:
            self.late -= 1
            visible = self.old
        names = re.findall(r"'((?:[^']|'')*)'", sql)
        rows = [[n, 10] for n in names if n in visible]
        return {"exceptions": [], "resultTable": {"rows": rows}}
