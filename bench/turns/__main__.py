"""Takes the cycles of ``bench.lineage`` (start, end and revert, quiet) in turns with another checkout of this
repository, each on an installation of its own, and prints the medians beside one another.

Usage: ``python -m bench.turns FOLDER [--rounds 12] [--cycles 10]``, where FOLDER is a ``git worktree`` of the commit to
compare with.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
RUN = Path(__file__).with_name("installation.py")


class Checkout:
    """Its installation, and the seconds of every step so far."""

    def __init__(self, folder: Path) -> None:
        self.found: dict[str, list[float]] = defaultdict(list)
        self._process = subprocess.Popen(
            [sys.executable, str(RUN)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ready(self) -> Checkout:
        """Wait until it can be asked."""
        self._read()
        return self

    def turn(self, cycles: int) -> None:
        """So many cycles; the other one idles meanwhile."""
        assert self._process.stdin is not None
        print(cycles, file=self._process.stdin, flush=True)
        for step, seconds in self._read().items():
            self.found[step] += seconds

    def close(self) -> None:
        """End the installation."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(120)

    def _read(self) -> dict[str, list[float]]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                found: dict[str, list[float]] = json.loads(line)
                return found
        raise SystemExit("The installation ended; what it printed is above.")


def main() -> None:
    """Measure and print a line per step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--cycles", type=int, default=10)
    given = parser.parse_args()
    checkouts = []
    try:
        for folder in (given.folder.resolve(), HERE):
            checkouts.append(Checkout(folder))
            checkouts[-1].ready()
        for number in range(given.rounds):
            for checkout in checkouts[:: 1 if number % 2 else -1]:
                checkout.turn(given.cycles)
    finally:
        for checkout in checkouts:
            checkout.close()
    then, now = (checkout.found for checkout in checkouts)
    print(f"{given.rounds} turns of {given.cycles} cycles, ms, median there, here, and how many times that is")
    for step, seconds in then.items():
        before, after = (statistics.median(s) * 1000 for s in (seconds, now[step]))
        print(f"  {step:<16} {before:7.1f} {after:7.1f} {after / before:6.2f} x", flush=True)


if __name__ == "__main__":
    main()
