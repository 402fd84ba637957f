"""Segments: how they come into a table, leave it, come back, and where their files are, as every kind of cluster offers
it.

What holds for both kinds (arguments are checked, addresses are allowed, the outcome is audited) is done by the use
cases in ``segments.services.segments``; methods here are called by those only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    from segments.domain.replacement.undo.return_rule import ReturnRule
    from segments.domain.segments.archive import Outcome
    from segments.domain.segments.pending_deletion import Pending
    from segments.domain.tables.table_config import TableConfig
    from segments.gateways.deep_store.deepstore import DeepStore
    from segments.names import TableName
    from segments.services.core.context import Actor, Context
    from segments.services.segments.restore import Found
    from segments.services.segments.upload_options import MetadataPart, UploadOptions, UploadResult


@dataclass(frozen=True)
class Deletion:
    """What became of each segment, in the order named; ``lost``: those deleted of which no copy is left."""

    outcomes: Sequence[Outcome]
    lost: Sequence[str] = ()


@dataclass(frozen=True)
class Upload:
    """One call: table, options, and the lineage entry that fences it (None: no fence), for whom."""

    table: TableName
    options: UploadOptions
    lineage_entry: str | None
    actor: Actor


class SegmentEngine(Protocol):
    """Segments: how they come into a table, leave it, come back, and where their files are."""

    def upload_tar(self, ctx: Context, upload: Upload, tar: Path) -> UploadResult:
        """Take in a segment's tar. Embedded: file, record and row appear together, or nothing is left. Pinot: sent
        once; when the answer is lost, the CRC on record says whether it arrived; what came in after its lineage entry
        was over is taken out again.
        """

    def upload_uri(self, ctx: Context, upload: Upload, uri: str) -> UploadResult:
        """Take in the tar at an address; ``options.copy``: into the deep store. Embedded: fetched here. Pinot: its
        controller fetches it, so a lineage entry cannot fence it (StateConflict).
        """

    def upload_metadata_tar(self, ctx: Context, upload: Upload, tar: Path, uri: str) -> UploadResult:
        """Register a segment by the tar of its two description files; its own tar is at ``uri``."""

    def upload_metadata(self, ctx: Context, upload: Upload, parts: Sequence[MetadataPart]) -> UploadResult:
        """Register segments whose tars are elsewhere. Embedded: all are admitted before the first is written. Pinot:
        one after the other, each read by its controller where it is; what came in before one is refused stays.
        """

    def reads_own_loopback(self, ctx: Context) -> bool:
        """Does whoever fetches addresses for this cluster run on this machine? Its loopback addresses are ours then."""

    def remove(
        self, ctx: Context, table: TableName, segments: Sequence[str], *, retention: str | None, actor: Actor,
        guard: bool, force: bool,
    ) -> Sequence[str]:  # fmt: skip
        """Take all of these out of the table, or none: StateConflict when ``guard`` and one is locked or pinned.
        Returns those of which no copy is left.

        Embedded: one transaction with the lineage as it was read; files follow through the deletion queue. Pinot: the
        lineage is read before; in batches, each read again when its answer is lost; copies are made first where the
        table asks for them.
        """

    def delete(
        self, ctx: Context, table: TableName, segments: Sequence[str], *, retention: str | None, dry_run: bool,
        force: bool, actor: Actor,
    ) -> Deletion:  # fmt: skip
        """Delete those that may be deleted, with the guarantees of ``remove``; ``dry_run`` only says which."""

    def guards_lineage(self, ctx: Context) -> bool:
        """Do replacements guard their segments? Embedded: unless the cluster's setting says false. Pinot: always; its
        controller applies that setting itself.
        """

    def drain(self, ctx: Context, table: TableName) -> list[str]:
        """Finish what can be finished of the table's deletion queue; a sentence for each kind of thing done. Pinot
        keeps no such queue.
        """

    def waiting_deletions(self, ctx: Context, table: TableName) -> Mapping[str, Pending]:
        """{segment: what is to be done with it} of the table's deletion queue: deletions whose files are still there,
        and restores under way. Pinot: none, it keeps no such queue.
        """

    def upload_to_store(
        self, ctx: Context, table: TableName, segments: Collection[str], *, is_forced: bool
    ) -> list[str]:
        """Have servers upload those of these segments that the deep store lacks, or with ``is_forced`` all that are
        committed; those that it has now. Pinot: StateConflict, its own controller does that.
        """

    def keeps_deleted(self, ctx: Context, config: TableConfig) -> bool:
        """Can what is deleted of this table be restored? Embedded: for as long as it is kept. Pinot: where the table
        asks for copies.
        """

    def deletion_notice(self, ctx: Context, config: TableConfig) -> str:
        """What becomes of the files of deleted segments of this table, as a sentence."""

    def kept_store(self, ctx: Context) -> DeepStore:
        """The deep store that holds what is kept of deleted segments. Pinot: a folder of ours, apart from its own."""

    def find_kept(
        self, ctx: Context, config: TableConfig, names: Sequence[str], files: Sequence[str]
    ) -> dict[str, Found]:
        """{name: what is kept of it, and whether it could come back, the lineage aside}, for every name. ``files``
        names kept files where another than the newest version is wanted.
        """

    def bring_back(
        self, ctx: Context, config: TableConfig, found: Sequence[Found], rule: ReturnRule, actor: Actor
    ) -> dict[str, Outcome]:
        """Restore these; {segment: outcome} where it differs from what was foreseen. Embedded: record, row and file as
        they were, some in one transaction, decided again under ``rule``; a restore that dies is ended or undone by
        ``drain``. Pinot: uploaded one by one; the controller makes the record, with the same CRC.
        """

    def open_file(self, ctx: Context, raw_table: str, segment: str) -> tuple[int, BinaryIO]:
        """(bytes, stream) of a segment's tar by the raw table name; the caller closes it. NotFound when there is
        none. Embedded: the file whose CRC is on record. Pinot: through its controller.
        """

    def poll_interval_s(self, reads: int) -> float:
        """Seconds until who waits for segments reads the table again, after ``reads`` times: on a Pinot each read is
        several requests, so they become rarer.
        """
