"""ZooKeeper and controller of a real Pinot 0.11.0, without servers and brokers, for benches of what is
read from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.real_pinot.cluster import RealPinot, running


class RealController:
    """``url`` and ``zookeeper`` are its addresses; ``calls`` the requests of this process so far, over all clusters
    of that address.
    """

    def __init__(self, pinot: RealPinot) -> None:
        self.url, self.zookeeper = pinot.controller, pinot.zookeeper

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[RealController]:
        """One for the time of the block."""
        with running(servers=0, has_broker=False, is_light=False) as pinot:
            yield cls(pinot)

    def calls(self) -> dict[str, int]:
        """{cluster: requests}."""
        from segments import wiring
        from segments.models import Cluster

        names = Cluster.objects.filter(kind=Cluster.Kind.PINOT).values_list("name", flat=True)
        return {name: pinot.calls() for name in names if (pinot := wiring.context(name).pinot) is not None}

    def stop(self) -> None:
        """Nothing: it ends with its block."""
