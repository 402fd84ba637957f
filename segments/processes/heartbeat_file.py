"""The file by which the supervisor knows that a process without a port is up, and that it still runs."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

#: Seconds between two touches.
EVERY_S = 2.0


def keep_heartbeat(path: Path, every_s: float = EVERY_S) -> None:
    """Touch ``path`` now (OSError when that fails), and from a thread of its own every ``every_s`` seconds as long as
    the process runs.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o600)

    def beat() -> None:
        while True:
            time.sleep(every_s)
            with suppress(OSError):  # a full disk must not end the beat
                path.touch(0o600)

    threading.Thread(target=beat, name="sign-of-life", daemon=True).start()
