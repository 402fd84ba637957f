"""Arms the named points of commits at which processes of an installation die or fail (``cuts/sitecustomize.py``)."""

from __future__ import annotations

from pathlib import Path

from tests.waiting import poll

HOOK = Path(__file__).resolve().parent / "cuts"


class CutPoints:
    """The points of one installation. ``folder`` is empty; ``settings`` are for the installation."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.settings = {"PYTHONPATH": str(HOOK), "CUT_POINTS": str(folder)}

    def arm(self, point: str, effect: str = "kill") -> None:
        """The next process that comes there is cut."""
        (self.folder / f".{point}").write_text(effect)
        (self.folder / f".{point}").rename(self.folder / point)

    def disarm(self, *points: str) -> None:
        """They are passed unharmed again; what was taken is forgotten."""
        for point in points:
            for left in self.folder.glob(f"{point}*"):
                left.unlink()

    def taken(self, point: str, seconds: float = 30) -> int:
        """Wait until a process came there; its pid."""
        found = poll(lambda: list(self.folder.glob(f"{point}.taken-by-*")), seconds, f"a process comes to {point}")
        return int(found[0].name.rpartition("-")[2])

    def reached(self, point: str, seconds: float = 30) -> None:
        """Wait until a process came to a point that fails always."""
        poll(lambda: list(self.folder.glob(f"{point}.reached-by-*")), seconds, f"a process comes to {point}")
