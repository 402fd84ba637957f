"""Background processes give way to those that somebody waits for."""

from __future__ import annotations

import os
from typing import Final

#: Steps below the processes that answer queries and requests.
BACKGROUND_NICE: Final = 5


def give_way() -> None:
    """Lower this process's priority, and that of what it starts: on few cores a push or the mirror would slow switches and queries."""
    if hasattr(os, "nice"):
        os.nice(BACKGROUND_NICE)
