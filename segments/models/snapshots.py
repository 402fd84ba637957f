"""The history of tables: a row for each snapshot that queries saw, written by the mirror and kept for good."""

from __future__ import annotations

from django.db import models


class Snapshot(models.Model):
    """What queries of a table saw from ``at`` until the next snapshot. It outlives lineage entries, segments and the
    table itself.
    """

    cluster = models.ForeignKey("Cluster", on_delete=models.CASCADE, related_name="snapshots")
    table_name = models.CharField(max_length=255, help_text="Typed name, e.g. flights_OFFLINE")
    number = models.PositiveIntegerField(help_text="1 is the oldest of its table")
    at = models.DateTimeField()
    kind = models.CharField(
        max_length=16, help_text="first, switch, rollback, undo, return, upload, delete, change or commit: what made it"
    )
    entries = models.JSONField(default=list, help_text="Lineage entries that switched, latest first")
    switches = models.PositiveIntegerField(
        default=1, help_text="More than 1: what queries saw between these switches is not known"
    )
    segments = models.PositiveIntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    start_ms = models.BigIntegerField(null=True)
    end_ms = models.BigIntegerField(null=True)
    actor = models.CharField(max_length=150, blank=True, default="", help_text="Empty: nobody is on record")
    reason = models.TextField(blank=True, default="")
    decided_by = models.CharField(
        max_length=150, blank=True, default="", db_default="", help_text="Who switched to it although checks failed"
    )
    decision = models.TextField(blank=True, default="", db_default="", help_text="Why they did")
    push = models.CharField(max_length=64, blank=True, default="", help_text="Id of the push that made it")
    session = models.CharField(max_length=64, blank=True, default="", help_text="Id of the file ingestion session")
    checks = models.CharField(max_length=16, blank=True, default="", help_text="What the table's checks said of it")
    changes = models.BinaryField(help_text="{segment: [CRC before, after]}, compressed")
    whole = models.BinaryField(null=True, help_text="{segment: CRC} of every 50th snapshot, compressed")
    states = models.JSONField(null=True, help_text="{entry: state} of the lineage; of the newest snapshot only")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "table_name", "number"], name="snapshot_number")]
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.table_name} snapshot {self.number}"
