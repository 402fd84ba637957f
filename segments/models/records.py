"""What is kept of what happened: changes by people and passes, findings, runs of passes."""

from __future__ import annotations

from django.db import models


class AuditEvent(models.Model):
    """Append-only record of who did (or was refused) what, to which thing, and why."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.CharField(max_length=150)
    action = models.CharField(max_length=64, db_index=True)
    cluster = models.CharField(max_length=64, blank=True, default="")
    target = models.CharField(max_length=600, blank=True, default="", db_index=True)
    outcome = models.CharField(max_length=16, default="done")
    reason = models.TextField(blank=True, default="")
    address = models.CharField(max_length=64, blank=True, default="")
    detail = models.JSONField(default=dict)
    request_id = models.CharField(
        max_length=32, blank=True, default="", db_index=True, help_text="Of the request that it was done in, if any"
    )

    class Meta:
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor} {self.action} {self.target}"


class Finding(models.Model):
    """Something a validation pass found wrong; closed by the pass that no longer finds it."""

    class Severity(models.TextChoices):
        ERROR = "error", "error"
        WARNING = "warning", "warning"

    cluster = models.CharField(max_length=64)
    table_name = models.CharField(max_length=255)
    code = models.CharField(max_length=64)
    subject = models.CharField(max_length=600, blank=True, default="")
    severity = models.CharField(max_length=16, choices=Severity)
    message = models.TextField()
    first_seen = models.DateTimeField(auto_now_add=True)
    last_seen = models.DateTimeField(auto_now=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    assignee = models.CharField(max_length=150, blank=True, default="", help_text="Who takes care of it")
    #: Whether alerts about its opening and its closing were put on their way.
    open_notified = models.BooleanField(default=False)
    close_notified = models.BooleanField(default=False)

    class Meta:
        indexes = [
            models.Index(fields=["cluster", "table_name", "closed_at"]),
            models.Index(
                fields=["cluster", "severity"], name="finding_open", condition=models.Q(closed_at__isnull=True)
            ),
            models.Index(fields=["id"], name="finding_open_unnotified", condition=models.Q(open_notified=False)),
            models.Index(
                fields=["id"],
                name="finding_close_unnotified",
                condition=models.Q(close_notified=False, closed_at__isnull=False),
            ),
        ]
        ordering = ["-last_seen"]

    def __str__(self) -> str:
        return f"{self.table_name}: {self.message}"


class FindingSnooze(models.Model):
    """Nobody is notified of a finding until ``until``; the finding stays visible. It holds when the finding closes and
    opens again.
    """

    cluster = models.CharField(max_length=64)
    table_name = models.CharField(max_length=255)
    code = models.CharField(max_length=64)
    subject = models.CharField(max_length=600, blank=True, default="")
    until = models.DateTimeField()
    actor = models.CharField(max_length=150)
    reason = models.TextField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["cluster", "table_name"])]
        ordering = ["until"]

    def __str__(self) -> str:
        return f"{self.table_name} {self.code} until {self.until:%Y-%m-%d %H:%M}"


class PassRun(models.Model):
    """One run of a periodic pass over one table: the plain sentences it returned."""

    cluster = models.CharField(max_length=64)
    task = models.CharField(max_length=64)
    table_name = models.CharField(max_length=255)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    succeeded = models.BooleanField(default=True)
    sentences = models.JSONField(default=list)

    class Meta:
        ordering = ["-finished_at"]

    def __str__(self) -> str:
        return f"{self.task} {self.table_name} {self.finished_at:%Y-%m-%d %H:%M:%S}"
