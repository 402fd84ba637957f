"""A deep store of an installation under test that can be made slow or to hang, and released again."""

from __future__ import annotations

import os
from pathlib import Path

from tests.waiting import wait_until

#: On PYTHONPATH of the installation's processes: what makes their calls hang.
HOOK = Path(__file__).resolve().parent / "hanging"


class HangingStore:
    """Stops and releases every call into the deep store of an installation."""

    def __init__(self, folder: Path) -> None:
        self.fifo = folder / "hanging"
        self._marker, self._slow = folder / "hanging.hangs", folder / "hanging.slow"
        os.mkfifo(self.fifo)

    @property
    def settings(self) -> dict[str, str]:
        """For the installation."""
        return {"PYTHONPATH": str(HOOK), "HANGING_STORE_FIFO": str(self.fifo)}

    def hang(self) -> None:
        """From now on nothing comes back."""
        self._marker.touch()

    def slow(self, seconds: float) -> None:
        """From now on each file takes so long to be written; 0: no longer than it takes."""
        if not seconds:
            self._slow.unlink(missing_ok=True)
            return
        written = self._slow.with_suffix(".new")
        written.write_text(str(seconds))
        written.rename(self._slow)

    def release(self) -> None:
        """Everything that hangs goes on."""
        self._marker.unlink(missing_ok=True)
        wait_until(lambda: not self._let_go(), 60, "nothing hangs any more", every_s=0.01)

    def _let_go(self) -> bool:
        """Those who wait now; False when nobody does."""
        try:
            os.close(os.open(self.fifo, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # ENXIO
            return False
        return True
