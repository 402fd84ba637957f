"""Pushes and the segments that they build."""

from __future__ import annotations

import uuid

from django.db import models

from segments.models.column_defaults import EMPTY_LIST


class Push(models.Model):
    """One push session: what was asked, how far it is, and who works on it."""

    class State(models.TextChoices):
        QUEUED = "QUEUED", "queued"
        RUNNING = "RUNNING", "running"
        #: All is uploaded and hidden; the table's checks refuse the switch until somebody finishes or cancels the push.
        BLOCKED = "BLOCKED", "blocked by checks"
        DONE = "DONE", "done"
        FAILED = "FAILED", "failed"
        CANCELLED = "CANCELLED", "cancelled"

    class Stage(models.TextChoices):
        LIST = "LIST", "listing files"
        BUILD = "BUILD", "building segments"
        START = "START", "starting the replacement"
        UPLOAD = "UPLOAD", "registering segments"
        END = "END", "switching to the new snapshot"
        REVERT = "REVERT", "taking it back"

    TERMINAL = frozenset({State.DONE, State.FAILED, State.CANCELLED})

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.CharField(max_length=64)
    table_name = models.CharField(max_length=255, help_text="Raw table name")
    spec = models.JSONField(default=dict)
    state = models.CharField(max_length=16, choices=State, default=State.QUEUED)
    stage = models.CharField(max_length=16, choices=Stage, default=Stage.LIST)
    actor = models.CharField(max_length=150, default="")
    reason = models.TextField(blank=True, default="")
    entry_id = models.CharField(max_length=64, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    lease_owner = models.CharField(max_length=128, blank=True, default="")
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    files_total = models.PositiveIntegerField(default=0)
    files_done = models.PositiveIntegerField(default=0)
    segments_total = models.PositiveIntegerField(default=0)
    segments_built = models.PositiveIntegerField(default=0)
    segments_uploaded = models.PositiveIntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    stage_seconds = models.JSONField(default=dict, help_text="{stage: seconds}")
    uncovered = models.JSONField(
        default=list,
        db_default=EMPTY_LIST,
        help_text="First segments that came in between its start and its switch, and stay visible",
    )
    plan = models.JSONField(default=dict, help_text="Frozen file list and names, so that a retry repeats nothing")
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "pushes"

    def __str__(self) -> str:
        return f"{self.table_name} {self.id}"


class PushReport(models.Model):
    """What a push found in its input; kept as long as the push."""

    push = models.OneToOneField(Push, on_delete=models.CASCADE, related_name="report")
    body = models.JSONField(
        default=dict, help_text="segments.domain.push.push_report.PushReport, without defaults' values"
    )
    error_rate = models.FloatField(default=0.0, help_text="Share of the rows that could be bad, 0 to 1")

    def __str__(self) -> str:
        return f"Report of {self.push}"


class PushSegment(models.Model):
    """One segment of a push, and what is already done for it."""

    class State(models.TextChoices):
        PLANNED = "PLANNED", "planned"
        STAGED = "STAGED", "built and staged"
        UPLOADED = "UPLOADED", "registered"

    push = models.ForeignKey(Push, on_delete=models.CASCADE, related_name="segments")
    ordinal = models.PositiveIntegerField(
        default=0, help_text="Place in the push's plan; the name may depend on the rows"
    )
    name = models.CharField(max_length=512)
    state = models.CharField(max_length=16, choices=State, default=State.PLANNED)
    source = models.TextField(blank=True, default="")
    rows = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    crc = models.BigIntegerField(null=True)
    uri = models.TextField(blank=True, default="")

    class Meta:
        unique_together = [("push", "ordinal")]
        ordering = ["ordinal"]

    def __str__(self) -> str:
        return self.name
