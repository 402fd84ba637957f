"""Stream messages that gave no row, and what became of them."""

from __future__ import annotations

import uuid

from django.db import models


class SetAsideReplay(models.Model):
    """One replay: the messages that refer to it become the rows of one segment, whose name is made of
    the replay's id.
    """

    class State(models.TextChoices):
        #: The messages are taken, and the segment may or may not be there; whoever carries on checks that first.
        RUNNING = "RUNNING", "running"
        DONE = "DONE", "done"
        FAILED = "FAILED", "failed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.CharField(max_length=64)
    table_name = models.CharField(max_length=255)
    segment = models.CharField(max_length=512)
    state = models.CharField(max_length=16, choices=State, default=State.RUNNING)
    actor = models.CharField(max_length=150)
    reason = models.TextField(blank=True, default="")
    messages = models.PositiveIntegerField(default=0)
    rows = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True, default="")

    class Meta:
        indexes = [models.Index(fields=["cluster", "table_name", "state"])]
        ordering = ["-started_at"]

    def __str__(self) -> str:
        return f"{self.table_name} {self.segment} ({self.state})"


class SetAsideMessage(models.Model):
    """One message, once whatever number of replicas read it. Its payload may hold secrets: it is shown masked, or
    revealed on record.
    """

    cluster = models.CharField(max_length=64)
    table_name = models.CharField(max_length=255)
    topic = models.CharField(max_length=255)
    partition = models.PositiveIntegerField()
    offset = models.CharField(max_length=64)
    place = models.CharField(max_length=64, help_text="The offset with leading zeros: sorts as the offsets do")
    segment = models.CharField(max_length=512, help_text="That was being consumed")
    noticed_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True, help_text="When the stream got it; empty: not known")
    column = models.CharField(max_length=255, blank=True, default="")
    reason = models.TextField()
    size = models.PositiveIntegerField(help_text="Bytes of the whole message")
    payload = models.BinaryField(help_text="Its first bytes")
    kept_bytes = models.PositiveIntegerField(help_text="Bytes of the payload")
    replay = models.ForeignKey(SetAsideReplay, null=True, blank=True, on_delete=models.PROTECT, related_name="taken")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "table_name", "topic", "partition", "offset"], name="set_aside_once"
            ),
        ]
        indexes = [models.Index(fields=["cluster", "table_name", "partition", "place"], name="set_aside_place")]
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.table_name} {self.partition} {self.offset}"

    @property
    def is_cut(self) -> bool:
        """Is only the beginning of it kept?"""
        return self.size > self.kept_bytes


class SetAsideCount(models.Model):
    """What was not kept of a table's messages, and the last report of each of its servers."""

    cluster = models.CharField(max_length=64)
    table_name = models.CharField(max_length=255)
    dropped_by_servers = models.PositiveBigIntegerField(default=0, help_text="Each replica counts for itself")
    dropped_oldest = models.PositiveBigIntegerField(default=0, help_text="Removed to make room for later ones")
    last_reports = models.JSONField(default=dict, help_text="{server: id}")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "table_name"], name="set_aside_count_once")]

    def __str__(self) -> str:
        return self.table_name
