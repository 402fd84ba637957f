"""Segments: how they come into a table, leave it, come back, and where their files are, on a real Pinot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import urlsplit

from segments.clusters.pinot.segments import deletion, files, kept_copies, restore, uploads
from segments.domain.access.outgoing import is_of_this_machine
from segments.domain.replacement.undo.return_rule import ReturnRule
from segments.domain.segments.archive import Outcome
from segments.domain.segments.pending_deletion import Pending
from segments.domain.tables.table_config import TableConfig
from segments.errors import StateConflict
from segments.gateways.deep_store.deepstore import DeepStore
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.engine.segments import Deletion, Upload
from segments.services.segments.restore import Found
from segments.services.segments.upload_files import verified_info
from segments.services.segments.upload_options import MetadataPart, UploadResult

#: Folder for copies of segments, in the cluster's deep store or the installation's.
_OURS: Final = "pinotadmin"
#: Seconds between two reads at first, and at most.
_READ_AGAIN_S: Final = 0.1
_LONGEST_S: Final = 2.0


class PinotSegmentEngine:
    """``segments.services.engine.segments.SegmentEngine`` on a real Pinot."""

    def upload_tar(self, ctx: Context, upload: Upload, tar: Path) -> UploadResult:
        """Verified here: Pinot takes a damaged one."""
        verified_info(ctx, tar)
        return uploads.upload_tar(ctx, upload, tar)

    def upload_uri(self, ctx: Context, upload: Upload, uri: str) -> UploadResult:
        """Fetched by the controller."""
        return uploads.upload_uri(ctx, upload, uri)

    def upload_metadata_tar(self, ctx: Context, upload: Upload, tar: Path, uri: str) -> UploadResult:
        """As a METADATA push."""
        return uploads.upload_metadata_tar(ctx, upload, tar, uri)

    def upload_metadata(self, ctx: Context, upload: Upload, parts: Sequence[MetadataPart]) -> UploadResult:
        """One by one, by address."""
        return uploads.upload_metadata(ctx, upload, parts)

    def reads_own_loopback(self, ctx: Context) -> bool:
        """Where the controller runs on this machine."""
        return is_of_this_machine(urlsplit(ctx.controller_url).hostname or "")

    def remove(
        self, ctx: Context, table: TableName, segments: Sequence[str], *, retention: str | None, actor: Actor,
        guard: bool, force: bool,
    ) -> Sequence[str]:  # fmt: skip
        """Through the controller."""
        deletion.remove(ctx, table, segments, retention=retention, actor=actor, guard=guard)
        return ()

    def delete(
        self, ctx: Context, table: TableName, segments: Sequence[str], *, retention: str | None, dry_run: bool,
        force: bool, actor: Actor,
    ) -> Deletion:  # fmt: skip
        """Through the controller."""
        return deletion.delete(ctx, table, segments, retention=retention, dry_run=dry_run, actor=actor)

    def guards_lineage(self, ctx: Context) -> bool:
        """Always."""
        return True

    def drain(self, ctx: Context, table: TableName) -> list[str]:
        """Pinot deletes files itself."""
        return []

    def waiting_deletions(self, ctx: Context, table: TableName) -> Mapping[str, Pending]:
        """What Pinot deletes is gone for it at once."""
        return {}

    def upload_to_store(
        self, ctx: Context, table: TableName, segments: Collection[str], *, is_forced: bool
    ) -> list[str]:
        """Refused: its servers are not asked from here."""
        raise StateConflict(
            f"Servers of Pinot cluster '{ctx.cluster}' upload segments for its own controller only.",
            remedy=f"Send POST /segments/{table.typed}/uploadFromServerToDeepstore to the controller.",
        )

    def keeps_deleted(self, ctx: Context, config: TableConfig) -> bool:
        """Where the table asks for copies."""
        return kept_copies.keeps_copies(config)

    def deletion_notice(self, ctx: Context, config: TableConfig) -> str:
        """What Pinot does with them, where there are no copies."""
        return kept_copies.notice(config)

    def kept_store(self, ctx: Context) -> DeepStore:
        """A folder of ours, apart from what Pinot keeps itself."""
        return ctx.deep_store.below(_OURS)

    def find_kept(
        self, ctx: Context, config: TableConfig, names: Sequence[str], files: Sequence[str]
    ) -> dict[str, Found]:
        """Among our copies."""
        return restore.find_kept(ctx, config, names, files)

    def bring_back(
        self, ctx: Context, config: TableConfig, found: Sequence[Found], rule: ReturnRule, actor: Actor
    ) -> dict[str, Outcome]:
        """Uploaded one by one."""
        return restore.bring_back(ctx, config, found, rule, actor)

    def open_file(self, ctx: Context, raw_table: str, segment: str) -> tuple[int, BinaryIO]:
        """Through the controller."""
        return files.open_stream(ctx, raw_table, segment)

    def poll_interval_s(self, reads: int) -> float:
        """Rarer and rarer: each read is several requests."""
        return min(_LONGEST_S, _READ_AGAIN_S * 1.4 ** min(reads, 20))
