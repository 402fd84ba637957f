"""Runs a part in this process, or some processes as one: these end together, and a signal to one reaches all."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

from segments.processes.roles.commands import PROJECT
from segments.processes.roles.parent import PARENT, PATIENCE_S


def run_together(commands: Sequence[Sequence[str]], environment: Mapping[str, str]) -> int:
    """Start all and wait: when one ends, or SIGTERM or SIGINT comes, the others are ended, too. Returns the status of
    the first that ended: 0 after a signal. They end, too, when this process is killed (``end_with_parent``).
    """
    ended, was_asked = threading.Event(), threading.Event()

    def stop(*_: object) -> None:
        was_asked.set()
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    shared = {**environment, PARENT: str(os.getpid())}
    started = [subprocess.Popen(list(line), env=shared, cwd=PROJECT) for line in commands]  # noqa: S603  # ours
    first: list[int] = []

    def watch(process: subprocess.Popen[bytes]) -> None:
        first.append(process.wait())
        ended.set()

    for process in started:
        threading.Thread(target=watch, args=(process,), daemon=True).start()
    while not ended.wait(1.0):
        pass
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in started:
        _end(process)
    return 0 if was_asked.is_set() else (first[0] or 1)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def become(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Go on as ``python -m MODULE ...`` in this very process: it has loaded most of it, and whoever started it watches
    the part itself.
    """
    _, flag, module, *arguments = command
    assert flag == "-m"
    os.chdir(PROJECT)
    os.environ.update(environment)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
