"""A process that ends while it still warms up ends in order."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import threading
from segments.dataplane.background_thread import run_in_background
from segments.dataplane.query import warm_up

inside = threading.Event()

def work():
    warm_up()
    inside.set()
    for _ in range(20):
        warm_up()

for number in range(3):
    run_in_background(f"warm-up-{number}", work, "It failed.")
inside.wait()
"""


def test_a_process_that_ends_in_the_middle_of_its_warm_up_is_not_aborted() -> None:
    """Python 3.11 unwinds daemon threads at its end, which DuckDB answers with SIGABRT (status 134 of a shell)."""
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, "terminate called" in ended.stderr) == (0, False), ended.stderr[-2000:]
