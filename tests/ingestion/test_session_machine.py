"""Files appear, change, vanish and cannot be read, triggers come, runners die at any write: queries always see exactly
one finished listing of the folder, and once nothing fails any more, that of the folder as it is.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from segments.domain.ingestion.session import FileState, SessionState
from segments.errors import InvalidInput, StateConflict
from segments.services.ingestion import sessions
from segments.services.ingestion.manifest import read_manifest
from segments.services.ingestion.undo import undo_session
from tests.ingestion.ingesting import APPEND, SWAP, SYNC, IngestionWorld
from tests.ingestion.test_interruptions import cutting, session_and_run
from tests.push.test_interruptions import Cut, Killed
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

_NAMES = st.sampled_from(["F1", "F2", "F3", "F4"])
_DUE = st.one_of(st.none(), st.integers(1, 45))


class FolderAndTable(RuleBasedStateMachine):
    """``rows_of`` is what each version of a file holds; ``shown`` the versions of each file that queries see."""

    keys: dict[str, str] = SYNC
    #: Are sessions undone? What one had added counts as ingested then, unless the table follows its folder.
    is_undone = True

    def __init__(self) -> None:
        super().__init__()
        self._temporary = tempfile.TemporaryDirectory()
        self.world = IngestionWorld(Path(self._temporary.name), {**self.keys, "consistentPushMaxRetries": "2"})
        self.rows_of: dict[tuple[str, int], int] = {}
        self.folder: dict[str, tuple[int, bool]] = {}
        self.shown: dict[str, tuple[int, ...]] = {}
        self.before: dict[str, tuple[int, ...]] = {}
        self.finished: set[str] = set()
        self.listed: set[str] = set()

    def teardown(self) -> None:
        try:
            self._everything_is_mended()
        finally:
            self._temporary.cleanup()

    @initialize()
    def first_file(self) -> None:
        self.put("F1", 3, is_bad=False)

    @rule(name=_NAMES, rows=st.integers(1, 9), is_bad=st.booleans())
    def put(self, name: str, rows: int, is_bad: bool) -> None:
        mtime = self.world.put(name, rows, bad=is_bad).stat().st_mtime_ns
        self.rows_of[name, mtime] = rows
        self.folder[name] = (mtime, is_bad)

    @rule(name=_NAMES)
    def delete(self, name: str) -> None:
        if self.folder.pop(name, None):
            (self.world.folder / name).unlink()

    @rule(due=_DUE)
    def trigger(self, due: int | None) -> None:
        """A trigger and its run; the process dies at write ``due``, if it comes so far."""
        self.world.now += 600_000
        before, names = sessions.current(self.world.ctx, TABLE), set(self.folder)
        self._attempt(due, lambda ctx: session_and_run(self.world, ctx))
        self._listed(before, sessions.current(self.world.ctx, TABLE), names)

    @rule(name=_NAMES, bad=_NAMES, rows=st.integers(1, 9), leaves=st.booleans())
    def a_retry_finds_another_folder(self, name: str, bad: str, rows: int, leaves: bool) -> None:
        """One file fails; until the retry it is mended, and one that is staged leaves the folder or is rewritten."""
        if name == bad:
            return
        self.put(name, rows, is_bad=False)
        self.put(bad, 1, is_bad=True)
        self._trigger_and_see()
        if leaves:
            self.delete(name)
        else:
            self.put(name, rows + 9, is_bad=False)
        self.put(bad, 20, is_bad=False)
        self._trigger_and_see()

    @rule()
    def undo(self) -> None:
        """The newest session is taken back, if it can be."""
        session = sessions.current(self.world.ctx, TABLE)
        if not self.is_undone or session is None or session.id not in self.finished or session.end_reason:
            return
        try:
            undo_session(self.world.ctx, TABLE, session.id, actor=ANN)
        except StateConflict:
            return
        self.shown = self.before

    def _trigger_and_see(self) -> None:
        self.trigger(None)
        self.queries_see_one_finished_listing()

    @rule(due=_DUE)
    def resume(self, due: int | None) -> None:
        """The pass finds what nobody works on, and a worker takes it up."""
        self.world.now += 30_000
        if sessions.resume_lost(self.world.ctx):
            self._attempt(due, lambda ctx: self.world.work(ctx, owner=f"worker {self.world.now}"))

    @invariant()
    def queries_see_one_finished_listing(self) -> None:
        session = sessions.current(self.world.ctx, TABLE)
        if session is not None and session.state is SessionState.DONE and session.id not in self.finished:
            self._finished(session)
        known = self._rows(self.shown)
        after_switch = session is not None and session.state is SessionState.SWITCH
        assert self.world.vis == known or (after_switch and self.world.vis == self._staged(session))

    def _listed(self, before: Any, after: Any, names: set[str]) -> None:
        """The names that the newest run of a session found; one that only drives a switch again lists nothing."""
        is_same = before is not None and after is not None and before.id == after.id
        if is_same and (len(before.runs) == len(after.runs) or before.state is SessionState.SWITCH):
            return
        self.listed = names

    def _finished(self, session: Any) -> None:
        self.finished.add(session.id)
        self.before = self.shown
        self.shown = self._after(session)
        self._is_the_listing()

    def _is_the_listing(self) -> None:
        """The finished session shows what its last run listed."""
        assert self.shown.keys() == self.listed

    def _after(self, session: Any) -> dict[str, tuple[int, ...]]:
        """The listing that the session shows at its end."""
        manifest = read_manifest(self.world.ctx, session)
        done = {
            Path(f.uri).name: f.fingerprint.mtime_ns
            for f in manifest.files
            if f.state in (FileState.DONE, FileState.BUILT)
        }
        gone = {Path(uri).name for uri in manifest.vanished}
        before = {} if session.swap else {n: v for n, v in self.shown.items() if n not in gone}
        return {**before, **{n: self._with(before.get(n, ()), version) for n, version in done.items()}}

    def _with(self, earlier: tuple[int, ...], version: int) -> tuple[int, ...]:
        """The versions of a file that queries see once this one was ingested."""
        return (version,)

    def _rows(self, listing: dict[str, tuple[int, ...]]) -> int:
        return sum(self.rows_of[name, version] for name, versions in listing.items() for version in versions)

    def _staged(self, session: Any) -> int:
        return self._rows(self._after(session))

    def _attempt(self, due: int | None, act: Any) -> None:
        try:
            act(cutting(self.world, Cut(due)))
        except Killed:
            pass
        except InvalidInput:
            assert not self.folder

    def _everything_is_mended(self) -> None:
        self.put("F1", 4, is_bad=False)
        for name, (_, is_bad) in list(self.folder.items()):
            if is_bad:
                self.put(name, 5, is_bad=False)
        for _ in range(6):
            for step in (self.resume, self.trigger):
                step(None)
                self.queries_see_one_finished_listing()
        self.world.now += 600_000
        assert self.world.trigger().session_id is None
        self._shows_the_folder()

    def _shows_the_folder(self) -> None:
        assert self.world.vis == sum(self.rows_of[n, mtime] for n, (mtime, _) in self.folder.items())


class Swapping(FolderAndTable):
    """The same with whole-table swaps."""

    keys = SWAP


class Adding(FolderAndTable):
    """The same where files are only added: rows of earlier versions, and of deleted files, stay."""

    keys = APPEND
    is_undone = False

    def _with(self, earlier: tuple[int, ...], version: int) -> tuple[int, ...]:
        return (*earlier, version)

    def _is_the_listing(self) -> None:
        assert self.shown.keys() >= self.listed

    def _shows_the_folder(self) -> None:
        newest = {name: self.rows_of[name, versions[-1]] for name, versions in self.shown.items()}
        folder = {name: self.rows_of[name, mtime] for name, (mtime, _) in self.folder.items()}
        assert {name: newest.get(name) for name in folder} == folder, "a file with the bytes that it had is not read"
        assert self.world.vis == self._rows(self.shown)


class Limited(FolderAndTable):
    """The same where a run reads two files at most: sessions extend over triggers."""

    keys: ClassVar[dict[str, str]] = {**SYNC, "runMaxNumFiles": "2"}


@pytest.mark.parametrize(
    "machine", [FolderAndTable, Swapping, Adding, Limited], ids=["sync", "swap", "append", "limited"]
)
def test_queries_see_exactly_one_finished_listing_whatever_happens(
    machine: type[FolderAndTable],
) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
