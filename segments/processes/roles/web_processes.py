"""``pinotadmin run web --web-processes N``: several web processes behind one port, each started again alone."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from segments.gateways.tls.certificate import Certificate
from segments.metrics.metric_kinds import SHARED_FOLDER
from segments.processes.roles.commands import PROJECT, web_command
from segments.processes.roles.parent import PARENT, PATIENCE_S
from segments.processes.roles.shared_port import SharedPort

log = logging.getLogger(__name__)
#: Seconds before a process that ended is started again: the first time, and at most.
_BACK_OFF_S: Final = (0.5, 15.0)
#: Seconds after which a process that ended counts as one that had worked.
_WORKED_S: Final = 60.0


def web_count(text: str) -> int:
    """The option: how many there are. ValueError for a number that is none of these."""
    count = int(text)
    if not 1 <= count <= 16:
        raise ValueError(text)
    return count


def run_web_processes(
    host: str,
    port: int,
    count: int,
    proxies: Sequence[str],
    environment: Mapping[str, str],
    certificate: Certificate | None = None,
) -> int:
    """``count`` of them at ``port``, and each at one of the ports behind it, until SIGTERM or SIGINT; then 0. What they
    count is added up below DATA_DIR. Raises OSError when ``port`` is in use.
    """
    counted = Path(environment["PINOTADMIN_DATA_DIR"]) / "run" / f"metrics-{environment.get('PINOTADMIN_HOST')}-{port}"
    shutil.rmtree(counted, ignore_errors=True)
    added_up = {**environment, SHARED_FOLDER: str(counted)}
    own_ports = range(port + 1, port + count + 1)
    with SharedPort(host, port, own_ports) as shared:
        found = shared.descriptor
        kept = [
            KeptProcess(
                web_command(host, own, proxies, found, certificate),
                {**added_up, "PINOTADMIN_PORT": str(own)},
                (found,),
                shared.refuse_unless_answered,
            )
            for own in own_ports
        ]
        _keep_until_asked(kept)
    return 0


def _keep_until_asked(kept: Sequence[KeptProcess]) -> None:
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    for one in kept:
        one.start()
    while not ended.wait(1.0):
        pass
    for one in kept:
        one.ask_to_end()
    for one in kept:
        one.end()


class KeptProcess:
    """A process that is started again, after a pause that grows, whenever it ends. ``on_end`` is called each time."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        descriptors: Sequence[int] = (),
        on_end: Callable[[], object] = lambda: None,
    ) -> None:
        self._command = list(command)
        self._environment = {**environment, PARENT: str(os.getpid())}
        self._descriptors, self._on_end = tuple(descriptors), on_end
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        # The process ends with this thread, so the thread stays as long as the process.
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def start(self) -> None:
        """Start it, and watch it from now on."""
        self._thread.start()

    def ask_to_end(self) -> None:
        """SIGTERM; it is not started again."""
        with self._lock:
            self._ending.set()
            if self._process is not None and self._process.poll() is None:
                self._process.terminate()

    def end(self) -> None:
        """Wait until it has ended, and kill it when that takes too long."""
        self._thread.join(PATIENCE_S)
        if self._thread.is_alive() and self._process is not None:
            self._process.kill()
            self._thread.join(PATIENCE_S)

    def _keep(self) -> None:
        pause, most = _BACK_OFF_S
        while not self._ending.is_set():
            began = time.monotonic()
            status = self._run()
            self._on_end()
            if self._ending.is_set():
                return
            pause = _BACK_OFF_S[0] if time.monotonic() - began > _WORKED_S else pause
            log.warning("A web process ended with status %s; it is started again in %g s.", status, pause)
            self._ending.wait(pause)
            pause = min(most, pause * 2)

    def _run(self) -> int:
        with self._lock:
            if self._ending.is_set():
                return 0
            self._process = subprocess.Popen(  # noqa: S603  # ours
                self._command, env=self._environment, cwd=PROJECT, pass_fds=self._descriptors
            )
        return self._process.wait()
