"""Pushes, refreshes by name, ends, reverts, rollbacks, undos, restores, deletions, retention, kills and time, against a
model.

Whatever happens: no row is seen twice, no row is beyond recall before its stated time, and every answer names the state
that queries see. ``HISTORY_EXAMPLES=1000`` walks longer than the default run does.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from segments.clusters.embedded.segments.deletion_queue import read_queue
from segments.domain.replacement.lineage import Entry, State
from segments.errors import PinotAdminError
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.core.context import Context, Limits
from segments.services.replacement import entry_reaper
from segments.services.replacement.explain import explain_entry
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.services.replacement.rollback import preview_rollback, roll_back
from segments.services.replacement.undo.kept_entries import read_kept_entries
from segments.services.replacement.undo.planning import preview_undo
from segments.services.replacement.undo.rollback import undo_rollback
from segments.services.segments import archive, deletion
from segments.services.segments.restore import restore_segments
from segments.services.segments.segments import read_records
from segments.services.segments.upload_files import staged_path
from segments.services.segments.uploads import upload_tar
from segments.services.upkeep import retention
from segments.store import paths
from tests.api.cluster import ANN, TABLE
from tests.faults.faulty import Cut, Fault, Plan
from tests.faults.history.model import Model, Push, Seen
from tests.faults.history.served import Served
from tests.services.segments.test_uploads import made

HOUR_MS = 3_600_000
#: Where a process is hit, and how; most are not.
PLANS = st.one_of(st.just({}), st.just({}), st.dictionaries(st.integers(1, 8), st.sampled_from(Fault), max_size=2))


class History(RuleBasedStateMachine):
    """``model`` is what must be; ``known`` are all entries that ever were."""

    @initialize(kept=st.sampled_from([None, "0", "2"]))
    def begin(self, kept: str | None) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.cluster = made(Path(self.folder.name) / "cluster")
        self.cluster.memory.delete(paths.live_instance("Broker_127.0.0.1_9000"))
        if kept is not None:
            node = self.cluster.memory.get(paths.table_config(TABLE.typed))
            assert node is not None
            assert node.record is not None
            custom = json.dumps({"customConfigs": {"pinotadmin.replacement.snapshotsKept": kept}})
            changed = replace(node.record, simple={**node.record.simple, "metadata": custom})
            self.cluster.memory.replace(paths.table_config(TABLE.typed), changed, node.version)
        self.model, self.known, self.count, self.tars = (
            Model(),
            list[str](),
            0,
            dict[tuple[str, int, int], int | None](),
        )
        for _ in range(2):
            self.add({})

    def teardown(self) -> None:
        if hasattr(self, "cluster"):
            self.folder.cleanup()

    # What queries see, and what is there

    @property
    def ctx(self) -> Context:
        return self.cluster.ctx

    def actual(self) -> Seen:
        """By lineage, ideal state and records."""
        seen = observe(self.ctx, TABLE)
        names = seen.lineage.visible(seen.ideal.maps)
        return {s: m.crc or 0 for s, m in read_records(self.ctx, TABLE, names).items()}

    def files(self) -> set[int]:
        """CRCs of what could still be shown: files of live segments, and kept ones that have their document."""
        seen = observe(self.ctx, TABLE)
        root = Path(self.ctx.deep_store.local_root or "")
        found: set[int] = set()
        pending = read_queue(self.ctx, TABLE).items
        for name, meta in read_records(self.ctx, TABLE, sorted({*seen.ideal.maps, *pending})).items():
            places = [
                self.ctx.deep_store.segment_path(TABLE.raw, name),
                staged_path(self.ctx, TABLE, name, meta.crc or 0),
            ]
            found.update({meta.crc or 0} & {self.crc_of(root / p) for p in places})
        kept, _ = archive.list_kept(self.ctx, TABLE, limit=1000)
        found.update(k.kept.metadata.crc or 0 for k in kept if k.kept is not None and k.is_there)
        return found

    def crc_of(self, file: Path) -> int | None:
        if not file.exists():
            return None
        stat = file.stat()
        key = (str(file), stat.st_mtime_ns, stat.st_ino)
        if key not in self.tars:
            self.tars[key] = read_info_from_tar(file).crc
        return self.tars[key]

    def entries(self) -> dict[str, Entry]:
        return {
            **{i: p.entry for i, p in read_kept_entries(self.ctx, TABLE).items()},
            **observe(self.ctx, TABLE).lineage.entries,
        }

    # Doing things

    def do(
        self,
        faults: dict[int, Fault],
        act: Callable[[Context], Any],
        goal: Callable[[Any], Seen],
        foreseen: Sequence[Seen] = (),
    ) -> Any:
        """As a process that may die. Done: queries see the ``goal``; refused: what they saw; cut or lost: one of the
        two.
        """
        self.cluster.now += 1000
        before, client = self.model.seen, self.cluster.memory.another_client()
        store, answer = Served(client, Plan(dict(faults)), self.cluster.serve), None
        try:
            answer = act(replace(self.ctx, store=store, limits=Limits(replicas_online_s=0.0, broker_ack_s=0.0)))
            allowed = [goal(answer)]
        except (Cut, PinotAdminError) as error:
            is_refused = isinstance(error, PinotAdminError) and not faults
            allowed = [before] if is_refused else [before, *foreseen]
        finally:
            client.close()
        self.cluster.serve()
        now = self.actual()
        assert now in allowed, f"queries see {now}, not one of {allowed}"
        self.model.move_to(now, self.cluster.now)
        return answer

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def tar(self, segment: str, key: str) -> tuple[Path, int]:
        """A segment with new content of this key."""
        self.count += 1
        tar = self.cluster.build(segment, 1 + self.count)
        crc = read_info_from_tar(tar).crc
        self.model.keys[crc] = key
        return tar, crc

    @rule(faults=PLANS)
    def add(self, faults: dict[int, Fault]) -> None:
        """Rows of a new key."""
        name = self.fresh("s")
        tar, crc = self.tar(name, self.fresh("k"))
        goal = {**self.model.seen, name: crc}
        self.do(faults, lambda c: upload_tar(c, TABLE, tar, actor=ANN), lambda _: goal, [goal])

    @rule(data=st.data(), faults=PLANS)
    def refresh_by_name(self, data: st.DataObject, faults: dict[int, Fault]) -> None:
        """New rows of the same key take the place of the old ones."""
        if not self.model.seen:
            return
        name = data.draw(st.sampled_from(sorted(self.model.seen)))
        tar, crc = self.tar(name, self.model.keys[self.model.seen[name]])
        goal = {**self.model.seen, name: crc}
        self.do(faults, lambda c: upload_tar(c, TABLE, tar, actor=ANN), lambda _: goal, [goal])

    @rule(data=st.data(), whole=st.booleans(), is_ended=st.sampled_from([True, True, True, False]), faults=PLANS)
    def push(self, data: st.DataObject, whole: bool, is_ended: bool, faults: dict[int, Fault]) -> None:
        """A replacement of some or all; one that is not ended is left to the reaper and to retention."""
        pool = sorted(self.model.seen)
        old = pool if whole or not pool else data.draw(st.lists(st.sampled_from(pool), unique=True, min_size=1))
        entry, tars = (
            self.fresh("e"),
            {n: self.tar(n, self.model.keys[self.model.seen[s]]) for s in old for n in [self.fresh("s")]},
        )
        new = {n: crc for n, (_, crc) in tars.items()}
        if not new:
            return
        try:
            start_replace(self.ctx, TABLE, old, list(new), actor=ANN, entry_id=entry)
        except PinotAdminError:
            return  # an unfinished one stands in the way
        self.known.append(entry)
        self.model.pushes[entry] = Push(entry, {s: self.model.seen[s] for s in old}, new)
        for tar, _ in tars.values():
            upload_tar(self.ctx, TABLE, tar, actor=ANN)
        self.cluster.serve()
        assert self.actual() == self.model.seen
        if is_ended:
            self.end(entry, faults)

    def end(self, entry: str, faults: dict[int, Fault]) -> None:
        push = self.model.pushes[entry]
        goal = self.model.replaced(push.old, push.new)
        self.do(faults, lambda c: end_replace(c, TABLE, entry, actor=ANN), lambda _: goal, [goal])

    @rule(data=st.data(), faults=PLANS)
    def end_an_unfinished_one(self, data: st.DataObject, faults: dict[int, Fault]) -> None:
        found = sorted(i for i, e in self.entries().items() if e.state is State.IN_PROGRESS and i in self.model.pushes)
        if found:
            self.end(data.draw(st.sampled_from(found)), faults)

    @rule(data=st.data(), faults=PLANS)
    def revert(self, data: st.DataObject, faults: dict[int, Fault]) -> None:
        """As Pinot's clients do."""
        found = sorted(i for i, e in self.entries().items() if e.state is State.COMPLETED and i in self.model.pushes)
        if found:
            entry = data.draw(st.sampled_from(found))
            goal = self.model.taken_back([entry])
            self.do(faults, lambda c: revert_replace(c, TABLE, entry, actor=ANN), lambda _: goal, [goal])

    @rule(data=st.data(), faults=PLANS, is_undone=st.booleans(), hours=st.sampled_from([0, 0, 30, 150]))
    def roll_back(self, data: st.DataObject, faults: dict[int, Fault], is_undone: bool, hours: int) -> None:
        """One or several steps; and, while its time lasts, back again."""
        found = sorted(i for i, e in self.entries().items() if e.state is State.COMPLETED and i in self.model.pushes)
        if not found:
            return
        entry, before = data.draw(st.sampled_from(found)), self.model.seen
        try:
            preview = preview_rollback(self.ctx, TABLE, entry)
        except PinotAdminError:
            return
        if any(s.entry_id not in self.model.pushes for s in preview.steps):
            return
        goal = self.model.taken_back([s.entry_id for s in preview.steps])
        done = self.do(
            faults,
            lambda c: roll_back(c, TABLE, entry, actor=ANN),
            lambda d: self.model.taken_back(list(d.reverted)),
            [goal],
        )
        if done is None:
            return
        assert preview.allowed
        assert (preview.before.segments, preview.after.segments) == (len(before), len(self.model.seen))
        if is_undone and self.model.seen != before:
            self.cluster.now += hours * HOUR_MS
            self.clean()
            assert done.undo_until_ms is not None
            assert self.cluster.now < done.undo_until_ms
            self.undo_of(entry, {})
            assert self.model.seen == before, "an undo right after its rollback brings back what queries saw"

    @rule(data=st.data(), faults=PLANS)
    def undo(self, data: st.DataObject, faults: dict[int, Fault]) -> None:
        """Of any rollback that ever was."""
        if self.known:
            self.undo_of(data.draw(st.sampled_from(self.known)), faults)

    def undo_of(self, entry: str, faults: dict[int, Fault]) -> None:
        try:
            preview = preview_undo(self.ctx, TABLE, entry)
        except PinotAdminError:
            return
        before = self.model.seen
        crcs = {s: c for p in self.model.pushes.values() for s, c in (*p.old.items(), *p.new.items())}
        crcs.update(
            {
                k.segment: k.kept.metadata.crc or 0
                for k in reversed(archive.list_kept(self.ctx, TABLE, limit=1000)[0])
                if k.kept
            }
        )
        crcs.update({n: m.crc or 0 for n, m in read_records(self.ctx, TABLE, sorted(crcs)).items()})
        old = {s: before[s] for s in preview.hidden_segments if s in before}
        goal = self.model.replaced(old, {s: crcs[s] for s in preview.returning_segments})
        done = self.do(faults, lambda c: undo_rollback(c, TABLE, entry, actor=ANN), lambda _: goal, [goal])
        for new in {*self.entries()} - {*self.known}:
            self.known.append(new)
            self.model.pushes[new] = Push(new, old, {s: crcs[s] for s in preview.returning_segments})
        if done is not None:
            assert preview.allowed
            assert (set(done.returned), set(done.hidden)) == ({*goal} - {*before}, {*before} - {*goal})
            assert (preview.before.segments, preview.after.segments) == (len(before), len(goal))

    @rule(data=st.data(), overwrite=st.booleans(), faults=PLANS)
    def restore(self, data: st.DataObject, overwrite: bool, faults: dict[int, Fault]) -> None:
        """Any kept file by its name."""
        kept = [k for k in archive.list_kept(self.ctx, TABLE, limit=1000)[0] if k.kept is not None]
        if not kept:
            return
        one = data.draw(st.sampled_from(sorted(kept, key=lambda k: k.file)))
        assert one.kept is not None
        goal = {**self.model.seen, one.segment: one.kept.metadata.crc or 0}
        (foreseen,) = restore_segments(
            self.ctx, TABLE, [one.segment], files=[one.file], overwrite=overwrite, dry_run=True, actor=ANN
        )
        answer = self.do(
            faults,
            lambda c: restore_segments(c, TABLE, [one.segment], files=[one.file], overwrite=overwrite, actor=ANN)[0],
            lambda outcome: goal if outcome.outcome == "done" else self.actual() if faults else self.model.seen,
            [goal],
        )
        if answer is not None and not faults:
            assert answer.outcome == foreseen.outcome, (foreseen, answer)

    @rule(data=st.data(), faults=PLANS)
    def delete(self, data: st.DataObject, faults: dict[int, Fault]) -> None:
        if not self.model.seen:
            return
        name = data.draw(st.sampled_from(sorted(self.model.seen)))
        goal = {s: c for s, c in self.model.seen.items() if s != name}
        self.do(
            faults,
            lambda c: deletion.delete_segments(c, TABLE, [name], actor=ANN)[0],
            lambda outcome: goal if outcome.outcome == "done" else self.model.seen,
            [goal],
        )

    @rule(hours=st.sampled_from([0, 1, 5, 25, 100]), faults=PLANS)
    def time_goes_by(self, hours: int, faults: dict[int, Fault]) -> None:
        """And the passes run, which may die."""
        self.cluster.now += hours * HOUR_MS
        self.model.move_to(self.model.seen, self.cluster.now)
        same = self.model.seen
        for act in (retention.run, deletion.drain, entry_reaper.run):
            self.do(faults, lambda c, act=act: act(c, TABLE), lambda _: same)

    def clean(self) -> None:
        self.model.move_to(self.model.seen, self.cluster.now)
        for act in (deletion.drain, retention.run, deletion.drain):
            act(self.ctx, TABLE)
            self.cluster.serve()

    # What must hold

    @invariant()
    def no_row_is_seen_twice(self) -> None:
        if hasattr(self, "model"):
            assert not self.model.doubled(self.actual())

    @invariant()
    def no_row_is_beyond_recall_before_its_stated_time(self) -> None:
        if hasattr(self, "model"):
            lost = self.model.owed(self.cluster.now) - self.files()
            assert not lost, f"the files with CRCs {lost} are gone"

    @invariant()
    def what_is_reported_of_every_entry_is_what_queries_see(self) -> None:
        if not hasattr(self, "model"):
            return
        for entry in observe(self.ctx, TABLE).lineage.entries.values():
            said, shown = (
                explain_entry(self.ctx, TABLE, entry.id).summary,
                set(self.model.seen) & set(entry.segments_to),
            )
            if "queries see the new side" in said:
                assert shown == set(entry.segments_to), said
            if (
                "old side until" in said
                or "what replaced its" in said
                or "do not see" in said
                or "deleted later, and" in said
            ):
                assert not shown, said


History.TestCase.settings = settings(
    max_examples=int(os.environ.get("HISTORY_EXAMPLES", "12")),
    stateful_step_count=20,
    derandomize="HISTORY_EXAMPLES" not in os.environ,  # the default run repeats its walks; longer ones find new ones
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.django_db
@pytest.mark.timeout(3600 if "HISTORY_EXAMPLES" in os.environ else 300)
class TestHistory(History.TestCase):  # type: ignore[misc,valid-type]  # made by Hypothesis
    """The machine as a test."""
