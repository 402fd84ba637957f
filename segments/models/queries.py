"""Queries that people keep: what they ran last, and what they saved under a name."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models


class KeptQuery(models.Model):
    """A query of one person. Without a name it is history, with one it is saved; ``segments.services.queries`` bounds
    both.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="kept_queries")
    cluster = models.CharField(max_length=64)
    name = models.CharField(max_length=80, blank=True, default="")
    sql = models.TextField()
    link = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kept_at = models.DateTimeField()

    class Meta:
        ordering = ["-kept_at", "-id"]
        indexes = [models.Index(fields=["owner", "cluster", "-kept_at"], name="segments_kept_query_own")]
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "cluster", "name"], condition=~models.Q(name=""), name="segments_kept_query_name"
            )
        ]

    def __str__(self) -> str:
        return self.name or self.sql[:80]
