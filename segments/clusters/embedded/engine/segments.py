"""Segments: how they come into a table, leave it, come back, and where their files are, on the embedded cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from segments.clusters.embedded.segments import bring_back, deep_store_upload, deletion, files, uploads
from segments.clusters.embedded.segments.deletion_queue import read_queue
from segments.domain.replacement.undo.return_rule import ReturnRule
from segments.domain.segments.archive import Outcome
from segments.domain.segments.pending_deletion import Pending
from segments.domain.tables.table_config import TableConfig
from segments.gateways.deep_store.deepstore import DeepStore
from segments.names import TableName
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.clusters.cluster_settings import read_settings
from segments.services.core.context import Actor, Context
from segments.services.engine.segments import Deletion, Upload
from segments.services.segments.restore import Found
from segments.services.segments.upload_options import MetadataPart, UploadResult

#: Pinot's key.
EXCLUSIVE_KEY: Final = "controller.lineage.exclusive.delete.enabled"
#: Seconds between two reads when no external view changed: a refreshed file or a dead server changes none at once.
_READ_AGAIN_S: Final = 0.05
_KEPT: Final = "Their files are kept for a while, and they can be restored from the tab Deleted."


class EmbeddedSegmentEngine:
    """``segments.services.engine.segments.SegmentEngine`` on the embedded cluster."""

    def upload_tar(self, ctx: Context, upload: Upload, tar: Path) -> UploadResult:
        """File, record and row together, or nothing."""
        return uploads.upload_tar(ctx, upload, tar)

    def upload_uri(self, ctx: Context, upload: Upload, uri: str) -> UploadResult:
        """Fetched here."""
        return uploads.upload_uri(ctx, upload, uri)

    def upload_metadata_tar(self, ctx: Context, upload: Upload, tar: Path, uri: str) -> UploadResult:
        """As one part of a metadata push."""
        return uploads.upload_metadata(ctx, upload, [(read_info_from_tar(tar), uri, None)])

    def upload_metadata(self, ctx: Context, upload: Upload, parts: Sequence[MetadataPart]) -> UploadResult:
        """All admitted before the first is written."""
        return uploads.upload_metadata(ctx, upload, parts)

    def reads_own_loopback(self, ctx: Context) -> bool:
        """Addresses are fetched by this very process."""
        return True

    def remove(
        self, ctx: Context, table: TableName, segments: Sequence[str], *, retention: str | None, actor: Actor,
        guard: bool, force: bool,
    ) -> Sequence[str]:  # fmt: skip
        """One transaction."""
        return deletion.remove(ctx, table, segments, retention=retention, actor=actor, guard=guard, force=force)

    def delete(
        self, ctx: Context, table: TableName, segments: Sequence[str], *, retention: str | None, dry_run: bool,
        force: bool, actor: Actor,
    ) -> Deletion:  # fmt: skip
        """One transaction."""
        return deletion.delete(ctx, table, segments, retention=retention, dry_run=dry_run, force=force, actor=actor)

    def guards_lineage(self, ctx: Context) -> bool:
        """Unless the cluster's setting says false; pinned entries guard theirs in any case."""
        return read_settings(ctx).get(EXCLUSIVE_KEY, "true").strip().lower() != "false"

    def drain(self, ctx: Context, table: TableName) -> list[str]:
        """Files of queued segments are archived."""
        return deletion.drain(ctx, table)

    def waiting_deletions(self, ctx: Context, table: TableName) -> Mapping[str, Pending]:
        """As on record."""
        return read_queue(ctx, table).items

    def upload_to_store(
        self, ctx: Context, table: TableName, segments: Collection[str], *, is_forced: bool
    ) -> list[str]:
        """One after the other, each by a live replica."""
        return deep_store_upload.upload_to_store(ctx, table, segments, is_forced=is_forced)

    def keeps_deleted(self, ctx: Context, config: TableConfig) -> bool:
        """For as long as the table's or the cluster's time."""
        return True

    def deletion_notice(self, ctx: Context, config: TableConfig) -> str:
        """They are kept."""
        return _KEPT

    def kept_store(self, ctx: Context) -> DeepStore:
        """The one of the segments."""
        return ctx.deep_store

    def find_kept(
        self, ctx: Context, config: TableConfig, names: Sequence[str], files: Sequence[str]
    ) -> dict[str, Found]:
        """In the deletion queue, or among the kept files."""
        return bring_back.find_kept(ctx, config, names, files)

    def bring_back(
        self, ctx: Context, config: TableConfig, found: Sequence[Found], rule: ReturnRule, actor: Actor
    ) -> dict[str, Outcome]:
        """In transactions."""
        return bring_back.bring_back(ctx, config, found, rule)

    def open_file(self, ctx: Context, raw_table: str, segment: str) -> tuple[int, BinaryIO]:
        """By the CRC on record."""
        return files.open_file(ctx, raw_table, segment)

    def poll_interval_s(self, reads: int) -> float:
        """Always the same."""
        return _READ_AGAIN_S
