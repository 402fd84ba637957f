"""File ingestion sessions, their files and their runs: mirrors of what ZooKeeper and the sessions' manifests hold.

They are only ever written by ``segments.mirror``. A session stays here when its znode is gone, as history.
"""

from __future__ import annotations

from django.db import models

from segments.models.column_defaults import EMPTY_LIST
from segments.models.mirrors import Table


class IngestionSession(models.Model):
    """Mirror of one session: what it was started for, how far it is, and what became of it."""

    class State(models.TextChoices):
        INIT = "INIT", "listing files"
        IN_PROGRESS = "IN_PROGRESS", "ingesting files"
        SWITCH = "SWITCH", "making the new rows visible"
        DONE = "DONE", "done"

    table = models.ForeignKey(Table, on_delete=models.CASCADE, related_name="ingestion_sessions")
    session_id = models.CharField(max_length=128, help_text="Name of its znode")
    state = models.CharField(max_length=16, choices=State, default=State.INIT)
    retry_count = models.PositiveIntegerField(default=0)
    max_retries = models.PositiveIntegerField(default=0)
    mode = models.CharField(max_length=16, default="APPEND", help_text="APPEND or SYNC")
    swap = models.BooleanField(default=False, help_text="Replaces the whole table")
    consistent = models.BooleanField(default=True, help_text="All files appear at once")
    input_dir = models.TextField(blank=True, default="", help_text="Folder of its files, secrets masked")
    started_at = models.DateTimeField()
    changed_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    end_reason = models.TextField(blank=True, default="", help_text="Why it ended without being done, or was cleared")
    error = models.TextField(blank=True, default="", help_text="Why its last run did not come to its end")
    triggered_by = models.CharField(max_length=150, blank=True, default="")
    task = models.CharField(max_length=255, blank=True, default="", help_text="Name of the run under way")
    entry_id = models.CharField(max_length=64, blank=True, default="", help_text="Its replacement in the lineage")
    lease_owner = models.CharField(max_length=255, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    manifest_version = models.BigIntegerField(default=0)
    files_total = models.PositiveIntegerField(default=0)
    files_pending = models.PositiveIntegerField(default=0)
    files_running = models.PositiveIntegerField(default=0)
    files_built = models.PositiveIntegerField(default=0)
    files_done = models.PositiveIntegerField(default=0)
    files_failed = models.PositiveIntegerField(default=0)
    files_deferred = models.PositiveIntegerField(default=0, help_text="Left to the next trigger by limits of a run")
    files_dropped = models.PositiveIntegerField(default=0)
    files_skipped = models.PositiveIntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    bad_rows = models.BigIntegerField(default=0, db_default=0, help_text="Rows of its files that do not fit")
    bytes = models.BigIntegerField(default=0, help_text="Of the segments that it built")
    seconds = models.FloatField(default=0.0, help_text="Of its runs that ended")
    segments_from = models.JSONField(default=list, help_text="Names of the segments that it replaces, while few")
    segments_to = models.JSONField(default=list, help_text="Names of the segments that it made, while few")
    rows_may_duplicate = models.PositiveIntegerField(
        default=0, help_text="Files that were ingested before they changed, and keep those rows too"
    )
    uncovered = models.JSONField(
        default=list,
        db_default=EMPTY_LIST,
        help_text="First segments that came in while a swap switched, and stay visible",
    )
    is_blocked = models.BooleanField(default=False, help_text="The table's checks refused its switch")
    spark_ui = models.CharField(max_length=512, blank=True, default="")
    is_kept = models.BooleanField(default=True, help_text="Its znode is there; else this row is history")

    class Meta:
        unique_together = [("table", "session_id")]
        ordering = ["-started_at", "-session_id"]

    def __str__(self) -> str:
        return f"{self.session_id} ({self.state})"


class IngestionFile(models.Model):
    """Mirror of one input file of a session."""

    class State(models.TextChoices):
        PENDING = "PENDING", "queued"
        RUNNING = "RUNNING", "building"
        BUILT = "BUILT", "built"
        DONE = "DONE", "pushed"
        FAILED = "FAILED", "failed"
        DEFERRED = "DEFERRED", "left for the next trigger"
        DROPPED = "DROPPED", "gone from the folder"
        SKIPPED = "SKIPPED", "skipped"

    session = models.ForeignKey(IngestionSession, on_delete=models.CASCADE, related_name="files")
    key = models.CharField(max_length=40, help_text="SHA-1 of the URI, which may be too long for an index")
    uri = models.TextField()
    fingerprint = models.CharField(max_length=255, blank=True, default="", help_text="Of the version that was read")
    state = models.CharField(max_length=16, choices=State, default=State.PENDING)
    segments = models.JSONField(default=list)
    rows = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True, default="")
    line = models.BigIntegerField(null=True, help_text="Where in the file the error is, from 1")
    bad_rows = models.BigIntegerField(default=0, db_default=0, help_text="Rows that do not fit")
    bad = models.JSONField(
        default=list, db_default=EMPTY_LIST, help_text="The first of them: line, row, column, value, why"
    )

    class Meta:
        unique_together = [("session", "key")]
        indexes = [models.Index(fields=["session", "state"])]
        ordering = ["uri"]

    def __str__(self) -> str:
        return f"{self.uri} ({self.state})"


class IngestionAttempt(models.Model):
    """Mirror of one run of a session: a trigger or a retry."""

    session = models.ForeignKey(IngestionSession, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField(help_text="From 0")
    task = models.CharField(max_length=255, blank=True, default="")
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    files_ok = models.PositiveIntegerField(default=0)
    files_failed = models.PositiveIntegerField(default=0)
    log = models.TextField(blank=True, default="", help_text="Its last lines")

    class Meta:
        unique_together = [("session", "number")]
        ordering = ["number"]

    def __str__(self) -> str:
        return f"{self.session_id} run {self.number}"
