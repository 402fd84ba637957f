"""Consumption of realtime tables, as every kind of cluster offers it: pause, resume, force commit, validation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from segments.domain.realtime.pause import ADMINISTRATIVE, PauseState
from segments.errors import StateConflict

if TYPE_CHECKING:
    from segments.domain.realtime.force_commit import BatchSettings
    from segments.domain.realtime.reingestion.job import Job
    from segments.domain.upkeep.findings import Found
    from segments.names import TableName
    from segments.services.core.context import Context
    from segments.services.engine.fixes import Fix
    from segments.services.realtime.consuming_segments import StartFrom
    from segments.services.realtime.force_commit import Wanted
    from segments.services.realtime.resume_plan import PlannedStart

#: Is a table's pause still what somebody decided from?
Expected = Callable[[PauseState], bool]


class PauseChanged(StateConflict):
    """Somebody paused or resumed the table meanwhile, and that holds."""


@dataclass(frozen=True)
class PauseNote:
    """What is noted with a pause or a resume: who asks and why, and the planned end of a table's pause in epoch
    milliseconds (None: until somebody resumes).

    ``batch``: how many segments a Pinot has committed at a time. Embedded servers commit when they see the pause.
    """

    actor: str
    comment: str | None
    reason_code: str = ADMINISTRATIVE
    resume_at_ms: int | None = None
    batch: BatchSettings | None = None


@dataclass(frozen=True)
class Changed:
    """``answer`` is the document for the caller; ``detail`` what the audit record gets in addition to the request."""

    answer: dict[str, Any]
    detail: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Validated:
    """What one kind of cluster adds to the validation pass of a table: sentences of what it did, and its findings."""

    sentences: list[str]
    findings: list[Found]


class ConsumptionEngine(Protocol):
    """Consumption of realtime tables: pause, resume, force commit, validation.

    Every method raises NotFound for a table that does not exist, InvalidInput for a disabled one. On a Pinot a change
    raises StateConflict with the reason, before anything is sent, when the version lacks it.
    """

    def pause_status(self, ctx: Context, table: TableName) -> dict[str, Any]:
        """Pinot's document with what Pinot has no field for: ``actor`` and ``resumeAtMs``.

        Embedded: of the ideal state. Pinot: its answer, with what is kept here of a pause that was made through us.
        """

    def pause_table(self, ctx: Context, table: TableName, note: PauseNote, expected: Expected | None) -> Changed:
        """Pause the table, or renew reason and planned end of its pause; PauseChanged when it is not ``expected``.

        Embedded: one conditional write, then a message to the servers; ``expected`` is checked in the same write.
        Pinot: sent once, and when the answer is lost the pause status decides; ``expected`` is checked before. Pinot
        knows no reason code and no planned end: the latter is kept here.
        """

    def resume_table(
        self, ctx: Context, table: TableName, note: PauseNote, start: StartFrom | None, expected: Expected | None
    ) -> Changed:
        """End the table's pause; ``note`` says who and why. PauseChanged when the pause is not ``expected``.

        Embedded: flag and new segments in one transaction; StateConflict, Unavailable (the stream does not answer):
        then nothing has changed. Pinot: as ``pause_table``; offsets of the caller's choice are refused.
        """

    def pause_topics(self, ctx: Context, table: TableName, indices: Collection[int]) -> Changed:
        """Pause streams of the table by their positions; the answer is the PauseState."""

    def resume_topics(
        self, ctx: Context, table: TableName, indices: Collection[int], start: StartFrom | None
    ) -> Changed:
        """Let paused streams go on, unless the whole table is paused."""

    def pause_partitions(self, ctx: Context, table: TableName, partitions: Collection[int], note: PauseNote) -> Changed:
        """Pause single partitions; InvalidInput: no such one. Pinot: StateConflict, no version can."""

    def resume_partitions(
        self, ctx: Context, table: TableName, partitions: Collection[int], start: StartFrom | None
    ) -> Changed:
        """Let paused partitions go on, unless their topic or table is paused. Pinot: StateConflict, no version can."""

    def force_commit(self, ctx: Context, table: TableName, wanted: Wanted, batch: BatchSettings) -> Changed:
        """Have consuming segments committed where they are; the answer has an id that ``job_status`` knows.

        Embedded: the job is durable, and servers are messaged until it is done. Pinot: its own job where the version
        keeps one, else a record of ours that is compared with the segments.
        """

    def job_status(self, ctx: Context, job_id: str) -> dict[str, Any]:
        """How far a force commit is, checked now. NotFound when no such job is on record."""

    def consuming_segments_info(self, ctx: Context, table: TableName) -> dict[str, Any]:
        """Pinot's document: per consuming segment what every replica says; a segment without an answer has an empty
        list.
        """

    def pauseless_debug_info(self, ctx: Context, table: TableName) -> dict[str, Any]:
        """Pinot's document: segments in ERROR by server, and those whose commit has started and not ended."""

    def reingest(self, ctx: Context, table: TableName, segment: str, *, accepts_loss: bool, by: str) -> Job:
        """Have a live server read the segment's rows from the stream again; the job, which goes on behind.

        StateConflict when none of its servers is alive, Unavailable. Pinot: StateConflict, its servers are not asked
        from here.
        """

    def waiting(self, ctx: Context, table: TableName) -> Sequence[PlannedStart]:
        """Partitions that nothing consumes, with the messages that wait behind where each stopped.

        Empty while the stream does not answer, or is another one than where they stopped. Pinot: always empty, its
        streams are not asked every minute from here.
        """

    def changed_streams(self, ctx: Context, table: TableName) -> Mapping[int, str]:
        """{partition: the stream it stopped in}, of partitions whose table reads another stream now. Pinot: empty, it
        does not record this.
        """

    def keep(self, ctx: Context) -> list[str]:
        """The pass of every few seconds over all tables: planned ends, pauses and force commits that are not complete;
        a sentence for each thing done.

        Embedded: also sets going partitions that stand still. Pinot: only pauses that were made through us.
        """

    def repair(self, ctx: Context, table: TableName) -> list[str]:
        """Repair what is safe to repair of the consumption, without a deep store; a sentence per repair and finding.
        Pinot: its own validation is asked to run.
        """

    def keep_copies(self, ctx: Context, table: TableName) -> list[str]:
        """Copy segments that only servers have to the deep store, remove uploads that nobody committed. Pinot: nothing,
        its own validation does that.
        """

    def validate(self, ctx: Context, table: TableName) -> Validated:
        """What the validation pass over a table of any type does besides comparing its records.

        Embedded: carries out waiting deletions, checks the places of segments' files. Pinot: finds partitions that
        stand still and rollbacks that stopped, and removes what we keep beyond its time.
        """

    def missing_files(self, ctx: Context, table: TableName, segments: Sequence[str]) -> set[str]:
        """Segments whose record names a file in our deep store that is not there. Unavailable or OSError when the store
        does not answer. Pinot: none, the store is its own and lists its content to nobody.
        """

    def plan_fix(self, ctx: Context, table: TableName, code: str, subject: str) -> Fix:
        """The remedy for a finding of a table of any type, worked out from what is now; nothing is changed before its
        ``run``. Pinot: replicas in ERROR are reset by its controller; all else is left to its own validation.
        """

    def require_set_aside(self, ctx: Context, table: TableName) -> None:
        """InvalidInput where messages that gave no row are not kept: Pinot's servers only count them."""
