"""Receivers of alerts, and the delivery log."""

from __future__ import annotations

from django.db import models


class Webhook(models.Model):
    """A receiver of events over HTTP. Its secret is in a private file of the data directory, never here."""

    name = models.CharField(max_length=60, unique=True)
    url = models.CharField(max_length=2000)
    tables = models.CharField(max_length=255, default="*", help_text="Pattern of table names")
    cluster = models.CharField(max_length=64, default="*")
    severity = models.CharField(max_length=16, default="warning", help_text="From this severity on")
    is_enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class AlertDelivery(models.Model):
    """One message on its way to one receiver; without a webhook it goes out by mail."""

    class State(models.TextChoices):
        WAITING = "WAITING", "waiting"
        SENT = "SENT", "sent"
        FAILED = "FAILED", "given up"

    webhook = models.ForeignKey(Webhook, null=True, on_delete=models.CASCADE, related_name="deliveries")
    event_id = models.CharField(max_length=64, db_index=True)
    event = models.JSONField()
    state = models.CharField(max_length=16, choices=State, default=State.WAITING)
    failures = models.PositiveIntegerField(default=0)
    status = models.PositiveIntegerField(null=True, help_text="HTTP status of the last try")
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        indexes = [models.Index(fields=["state", "due_at"])]
        verbose_name_plural = "alert deliveries"

    def __str__(self) -> str:
        return f"{self.event_id} to {self.webhook or 'mail'}"
