"""The history of schemas and table configs: a row for each version, whoever wrote it."""

from __future__ import annotations

from django.db import models


class ConfigVersion(models.Model):
    """A schema or table config as it was from ``at`` on. It outlives the table. Secrets are masked in it."""

    cluster = models.CharField(max_length=64)
    document = models.CharField(max_length=8, help_text="config or schema")
    name = models.CharField(max_length=255, help_text="Typed name of the table, raw name of a schema")
    number = models.PositiveIntegerField(help_text="1 is the oldest of its document")
    at = models.DateTimeField()
    version = models.CharField(
        max_length=16, blank=True, default="", help_text="Fingerprint of the document; empty: it was deleted"
    )
    actor = models.CharField(max_length=150, blank=True, default="", help_text="Empty: changed elsewhere, seen here")
    reason = models.TextField(blank=True, default="")
    body = models.BinaryField(help_text="The document as JSON, compressed; empty: it was deleted")
    changes = models.BinaryField(help_text="What differs from the version before, as JSON, compressed")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "document", "name", "number"], name="config_version_number")
        ]
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return f"{self.document} {self.name} version {self.number}"
