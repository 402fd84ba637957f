"""A supervised child: started when what it needs is ready, watched, restarted with back-off, held down on request."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from segments.processes.child_run import Command, Life
from segments.processes.guardian import Guardian
from segments.processes.probes import PROBE_TIMEOUT_S, Probe

Say = Callable[[str, str], None]


class State(enum.Enum):
    """Where a child is in its life."""

    WAITING = "waiting for what it needs"
    STARTING = "starting"
    READY = "ready"
    UNHEALTHY = "not answering"
    RESTARTING = "about to be restarted"
    HELD = "down on request"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Timing:
    """Seconds. Tests make them short."""

    first_delay: float = 0.2
    longest_delay: float = 10.0
    #: A child that lived this long begins again with the first delay.
    proven: float = 30.0
    probe_every: float = 0.1
    recheck_every: float = 2.0
    #: Rechecks in a row that may fail before a child counts as not healthy.
    misses: int = 3
    #: Without a sign of life for so long after that it is killed and started again.
    silence: float = 15.0


@dataclass(frozen=True)
class ChildSpec:
    """What a child is. ``once``: it runs to its end, and is ready when that was with status 0."""

    name: str
    command: Command
    #: Ready to work; ``alive``: does the process answer at all, whatever parts it lacks (None: the same)? Only one that
    #: does not is killed.
    probe: Probe | None = None
    alive: Probe | None = None
    after: tuple[str, ...] = ()
    once: bool = False
    ready_file: Path | None = None
    #: Other names under which ``server kill|stop|start`` finds it.
    aliases: tuple[str, ...] = ()
    #: Seconds between SIGTERM and SIGKILL.
    grace: float = 10.0
    #: Seconds within which it must become ready, or it is killed and restarted.
    start_limit: float = 120.0
    timing: Timing = field(default_factory=Timing)
    #: Called each time that its process has ended; takes no time.
    on_end: Callable[[], object] | None = None
    #: Children in a row with the same one are stopped at the same time; '': alone.
    wave: str = ""


class Child:
    """Runs one ChildSpec for as long as the supervisor lives."""

    def __init__(self, spec: ChildSpec, token: str, guardian: Guardian, say: Say, changed: Callable[[], None]) -> None:
        """``say(name, line)`` takes log lines; ``changed()`` is called after every change of state."""
        self.spec = spec
        self.state = State.WAITING
        self.first_ready = asyncio.Event()
        self._token = token
        self._guardian = guardian
        self._say = say
        self._changed = changed
        self._life: Life | None = None
        self._wanted = asyncio.Event()
        self._wanted.set()
        self._hurry = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return self._life.pid if self._life else None

    def _become(self, state: State) -> None:
        self.state = state
        if state in (State.READY, State.DONE):
            self.first_ready.set()
        self._changed()

    async def run(self, needs: Mapping[str, Child]) -> None:
        """Supervise until cancelled; a ``once`` child returns after its run."""
        for name in self.spec.after:
            if name in needs:
                await needs[name].first_ready.wait()
        delay = self.spec.timing.first_delay
        while True:
            await self._wanted.wait()
            lived, status = await self._live()
            if self.spec.once:
                self._become(State.DONE if status == 0 else State.FAILED)
                return
            if not self._wanted.is_set():
                self._become(State.HELD)
                continue
            if lived >= self.spec.timing.proven:
                delay = self.spec.timing.first_delay
            self._say(
                "up",
                f"{self.spec.name} ended ({describe_status(status)}) after {lived:.1f} s; starting it again in "
                f"{delay:.1f} s",
            )
            self._become(State.RESTARTING)
            await self._pause(delay)
            delay = min(delay * 2, self.spec.timing.longest_delay)

    async def _pause(self, delay: float) -> None:
        """Sleep; a ``start`` after a ``hold`` ends the sleep."""
        self._hurry.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), delay)

    async def _live(self) -> tuple[float, int]:
        """Start, wait for the end, clean up. Returns seconds lived and the exit status (127: could not be started)."""
        if self.spec.ready_file:
            self.spec.ready_file.unlink(missing_ok=True)
        try:
            life = Life(
                self.spec.command,
                f"{self._token}/{self.spec.name}",
                self._guardian,
                lambda line: self._say(self.spec.name, line),
            )
        except OSError as error:
            self._say("up", f"{self.spec.name} cannot be started: {error}")
            return 0.0, 127
        self._life = life
        self._idle.clear()
        self._become(State.STARTING)
        watching = asyncio.create_task(self._watch(life))
        try:
            status = await life.ended()
        finally:
            watching.cancel()
            life.clean()
            self._life = None
            if self.spec.on_end is not None:
                self.spec.on_end()
            self._idle.set()
        return time.monotonic() - life.born, status

    async def _watch(self, life: Life) -> None:
        """Probe until ready, then now and then whether it still answers."""
        probe = self.spec.probe
        if probe is None:
            if not self.spec.once:
                self._become(State.READY)
            return
        alive, heard = self.spec.alive, life.born
        while not await probe():
            if alive is not None and await alive():  # it has much to read
                heard = time.monotonic()
            if time.monotonic() - heard > self.spec.start_limit:
                self._say("up", f"{self.spec.name} was not ready within {self.spec.start_limit:.0f} s; ending it")
                life.kill()
                return
            await asyncio.sleep(self.spec.timing.probe_every)
        self._say("up", f"{self.spec.name} is ready after {time.monotonic() - life.born:.1f} s")
        self._become(State.READY)
        await self._keep_watch(life, probe)

    async def _keep_watch(self, life: Life, probe: Probe) -> None:
        """Until it has been silent for too long, and is killed."""
        timing, misses, silent = self.spec.timing, 0, 0.0
        while silent < timing.silence:
            began = time.monotonic()
            await asyncio.sleep(timing.recheck_every)
            is_ready, is_alive = await self._ask(probe)
            misses = 0 if is_ready else misses + 1
            if misses == timing.misses:
                self._say(
                    "up",
                    f"{self.spec.name} does not answer any more"
                    if not is_alive
                    else f"{self.spec.name} is not ready any more",
                )
                self._become(State.UNHEALTHY)
            elif misses == 0 and self.state is State.UNHEALTHY:
                self._say("up", f"{self.spec.name} answers again")
                self._become(State.READY)
            # When the whole machine stood still, a child had no chance to answer either: no round counts for more than
            # it takes.
            took = min(time.monotonic() - began, timing.recheck_every + PROBE_TIMEOUT_S)
            silent = 0.0 if is_alive or misses <= timing.misses else silent + took
        self._say("up", f"{self.spec.name} (process {life.pid}) gave no sign of life for {silent:.0f} s; killing it")
        life.kill()

    async def _ask(self, probe: Probe) -> tuple[bool, bool]:
        """Is it ready, is it alive?"""
        if self.spec.alive is None:
            is_ready = await probe()
            return is_ready, is_ready
        is_ready, is_alive = await asyncio.gather(probe(), self.spec.alive())
        return is_ready, is_ready or is_alive

    def start(self) -> None:
        """Let it run (again), without waiting for the back-off."""
        self._wanted.set()
        self._hurry.set()

    def hold(self) -> None:
        """Do not start it any more (until ``start``); a life that goes on is left alone."""
        self._wanted.clear()

    async def stop(self) -> None:
        """SIGTERM, and after the grace SIGKILL to its whole session; it stays down until ``start``."""
        self._wanted.clear()
        if self._life:
            self._life.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), self.spec.grace)
        await self.kill()

    async def kill(self) -> None:
        """SIGKILL to its session; it stays down until ``start``."""
        self._wanted.clear()
        if self._life:
            self._life.kill()
        await self._idle.wait()
        if self.state is not State.DONE:
            self._become(State.HELD)

    def kill_now(self) -> None:
        """SIGKILL without waiting."""
        self._wanted.clear()
        if self._life:
            self._life.kill()


def describe_status(status: int) -> str:
    """``status 1`` or ``signal SIGKILL``."""
    if status >= 0:
        return f"status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"
