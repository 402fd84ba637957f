"""What only some kinds of cluster have, by name: pages, paths and words go by it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Offers:
    """The same for every cluster of a kind; what only some versions have is what ``Engine.lacks`` answers."""

    #: Servers and brokers are processes of this installation: they answer its calls, take queries in its own SQL, and a
    #: disabled server goes on with what it holds.
    own_processes: bool = False
    #: Only this installation deletes and repairs: a pin holds against every clean-up, and what is deleted is kept for a
    #: while.
    own_upkeep: bool = False
    #: What consumption sets aside is kept here and can be consumed again.
    set_aside: bool = False
    #: Streams of its tables are read from here: what waits in them is counted, and messages can be shown.
    reads_streams: bool = False
    #: The cluster's own controller answers the paths for which there is no use case here, and says how tables are.
    pass_through: bool = False
    #: Minion tasks with their queues and schedules.
    minion_tasks: bool = False
    #: Periodic passes that the cluster's own controllers run: from here they are only started.
    own_passes: frozenset[str] = frozenset()
    #: Findings, by their codes, about which something can be done from here (``ConsumptionEngine.plan_fix``).
    fixable: frozenset[str] = frozenset()
