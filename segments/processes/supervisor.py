"""Keeps all children of a cluster running, publishes whether all is healthy, and stops them in reverse order."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from segments.errors import InvalidInput, NotFound, StateConflict, Unavailable
from segments.processes.child import Child, ChildSpec, State
from segments.processes.control import SOCKET_NAME, ControlServer
from segments.processes.endpoints import FILE_NAME, EndpointsFile
from segments.processes.guardian import Guardian
from segments.processes.logs import LogFile, Terminal
from segments.processes.machine.database_file import DatabaseFile
from segments.processes.sessions import kill_members

#: Seconds that ``server start`` waits for readiness.
START_WAIT_S = 120.0
#: The ``once`` child that sets the database up.
SETUP = "setup"
_GUARDIAN_CHECK_S = 1.0


@dataclass(frozen=True)
class Callbacks:
    """``healthy`` is called once, when all children are ready for the first time; its result is a child to run once
    then.
    """

    healthy: Callable[[], ChildSpec | None] = lambda: None


def data_dir_token(folder: Path) -> str:
    """Marks every process of this data directory; its lock makes sure that they all belong to one supervisor."""
    return hashlib.sha256(f"{folder.resolve()}:{folder.stat().st_ino}".encode()).hexdigest()[:16]


class Supervisor:
    """Runs ``specs`` (in order of start) from ``folder``; ``endpoints`` may be None in tests."""

    def __init__(
        self,
        folder: Path,
        specs: Sequence[ChildSpec],
        endpoints: EndpointsFile | None,
        terminal: Terminal,
        callbacks: Callbacks | None = None,
        database: DatabaseFile | None = None,
    ) -> None:
        """``database``: the file that the child ``SETUP`` makes; None: it is not on this machine."""
        self._folder = folder
        self._specs = specs
        self._endpoints = endpoints
        self._terminal = terminal
        self._callbacks = callbacks or Callbacks()
        self._database = database
        self._logs: dict[str, LogFile] = {}
        self._children: dict[str, Child] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ending = asyncio.Event()
        self._was_healthy = False
        self._status = 0
        self._token = data_dir_token(folder)

    async def run(self) -> int:
        """Start everything and stay until SIGINT, SIGTERM or SIGHUP; the exit status of ``up``.

        1 when a ``once`` child failed before the cluster was healthy (the database could not be set up).
        """
        for folder in ("logs", "run"):
            (self._folder / folder).mkdir(exist_ok=True, mode=0o700)
        # Left over only when the guardian of an earlier run was killed together with its supervisor.
        kill_members(set(), self._token + "/")
        signs_of_life = tuple(self._folder / name for name in (FILE_NAME, SOCKET_NAME))
        self._guardian = Guardian(self._token, self._folder / "run" / "guardian.lock", signs_of_life)
        control = ControlServer(self._folder, self._control)
        try:
            self._install_signals()
            await control.open()
            self._start()
            await self._until_ending()
        finally:
            control.close()
            await self._stop()
        return self._status

    def _install_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: int) -> None:
        if self._ending.is_set():
            self._say("up", "killing everything at once")
            for child in self._children.values():
                child.kill_now()
            return
        self._say("up", f"{signal.Signals(number).name}: stopping; once more kills at once")
        self._ending.set()

    def _start(self) -> None:
        self._children = {spec.name: self._child(spec) for spec in self._specs}
        for name, child in self._children.items():
            self._tasks[name] = asyncio.create_task(child.run(self._children), name=name)

    def _child(self, spec: ChildSpec) -> Child:
        if spec.name in self._logs:
            self._logs[spec.name].close()
        self._logs[spec.name] = LogFile(self._folder / "logs" / f"{spec.name}.log")
        return Child(spec, self._token, self._guardian, self._say, self._on_change)

    async def _until_ending(self) -> None:
        while not self._ending.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _GUARDIAN_CHECK_S)
            self._guardian.ensure_alive()
            if self._database is not None and self._database.is_lost():
                await self._set_up_again(self._database)
            for task in self._tasks.values():
                if task.done() and not task.cancelled():
                    task.result()

    async def _set_up_again(self, database: DatabaseFile) -> None:
        """What parts have open is in no folder any more: they start again on a database that is set up again. All that
        was under way is carried on from ZooKeeper.
        """
        self._say("up", "the database was deleted or replaced: it is set up again, and what uses it starts again")
        parts = [child for child in self._children.values() if SETUP in child.spec.after]
        parts = [child for child in parts if child.state is not State.HELD]
        await asyncio.gather(*(part.kill() for part in parts))
        database.start_over()
        setup = self._children[SETUP] = self._child(self._children[SETUP].spec)
        await setup.run({})
        for part in () if self._ending.is_set() else parts:
            part.start()

    def _say(self, name: str, line: str) -> None:
        self._terminal.line(name, line)
        if name in self._logs:
            self._logs[name].line(line)

    def _on_change(self) -> None:
        """Write or remove the endpoints file; notice the first time that all is healthy."""
        children = [self._children[spec.name] for spec in self._specs if spec.name in self._children]
        failed = [child.spec.name for child in children if child.state is State.FAILED]
        if failed and not self._ending.is_set():
            self._say("up", f"{failed[0]} failed, see {self._folder / 'logs' / failed[0]}.log; stopping")
            self._status = 1
            self._ending.set()
        healthy = all(child.state in (State.READY, State.DONE) for child in children) and not self._ending.is_set()
        if self._endpoints:
            if healthy:
                self._endpoints.write({child.spec.name: child.pid for child in children if child.pid})
            else:
                self._endpoints.remove()
        if healthy and not self._was_healthy:
            self._was_healthy = True
            if self._database is not None:
                self._database.remember()
            self._after_first_health()

    def _after_first_health(self) -> None:
        spec = self._callbacks.healthy()
        if spec is None:
            return
        child = self._child(spec)
        # Not in _specs: it does not count for health, and its failure stops nothing.
        self._children[spec.name] = child
        self._tasks[spec.name] = asyncio.create_task(self._run_extra(child), name=spec.name)

    async def _run_extra(self, child: Child) -> None:
        await child.run({})
        if child.state is State.FAILED and not self._ending.is_set():
            name = child.spec.name
            self._say("up", f"{name} failed; the cluster runs on. Its output is in {self._folder / 'logs' / name}.log")

    async def _stop(self) -> None:
        """Stop in reverse order, each wave at once; whatever happens, nothing is left when this returns."""
        self._ending.set()
        if self._endpoints:
            self._endpoints.remove()
        # A child that waits for another one or for its next start must not start any more.
        for child in self._children.values():
            child.hold()
        try:
            for wave in self._waves():
                await asyncio.gather(*(child.stop() for child in wave))
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            self._guardian.close()
            for log in self._logs.values():
                log.close()
            self._terminal.line("up", "stopped")

    def _waves(self) -> Iterator[list[Child]]:
        """What is stopped at the same time, the last started first."""
        for wave, children in itertools.groupby(reversed(self._children.values()), lambda child: child.spec.wave):
            if wave:
                yield list(children)
            else:
                yield from ([child] for child in children)

    async def _control(self, action: str, name: str) -> str:
        """A request of ``manage.py server``."""
        child = self._find(name)
        if action == "kill":
            await child.kill()
            return f"{child.spec.name} was killed and stays down until 'start'."
        if action == "stop":
            await child.stop()
            return f"{child.spec.name} was stopped and stays down until 'start'."
        if action == "start":
            return await self._start_again(child)
        raise InvalidInput(f"'{action}' is not an action.", remedy="Use kill, stop or start.")

    def _find(self, name: str) -> Child:
        for child in self._children.values():
            if not child.spec.once and (child.spec.name == name or name in child.spec.aliases):
                return child
        known = ", ".join("/".join((spec.name, *spec.aliases)) for spec in self._specs if not spec.once)
        raise NotFound(f"'{name}' is not part of this cluster.", remedy=f"Known: {known}.")

    async def _start_again(self, child: Child) -> str:
        if self._ending.is_set():
            raise StateConflict("The cluster is being stopped.", remedy="Start it again with 'up'.")
        child.start()
        try:
            async with asyncio.timeout(START_WAIT_S):
                while child.state is not State.READY:
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise Unavailable(
                f"{child.spec.name} is not ready yet ({child.state.value}).",
                remedy=f"Read logs/{child.spec.name}.log.",
            ) from None
        return f"{child.spec.name} is ready, process {child.pid}."
