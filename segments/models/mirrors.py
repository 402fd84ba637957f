"""Mirrors of what ZooKeeper holds: clusters, tables, segments, lineage. A mirror row is only ever written by
``segments.mirror``.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Cluster(models.Model):
    """One cluster that this installation drives: its own (embedded) or an Apache Pinot. Secrets are
    never in this row.
    """

    class Kind(models.TextChoices):
        EMBEDDED = "embedded", "embedded"
        PINOT = "pinot", "Apache Pinot"

    class Auth(models.TextChoices):
        NONE = "", "none"
        BASIC = "basic", "Basic"
        BEARER = "bearer", "bearer token"

    class State(models.TextChoices):
        """How the controller was found last."""

        UNKNOWN = "unknown", "not asked yet"
        UP = "up", "up"
        DOWN = "down", "does not answer"
        REFUSED = "refused", "refuses our credentials"
        UNTRUSTED = "untrusted", "its certificate is not trusted"
        UNEXPECTED = "unexpected", "does not answer as Pinot does"
        WRONG_CLUSTER = "wrong-cluster", "is another cluster"

    name = models.SlugField(max_length=64, unique=True)
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.EMBEDDED)
    controller_urls = models.JSONField(
        default=list, blank=True, help_text="Tried in turn; empty for the embedded cluster"
    )
    broker_url = models.CharField(
        max_length=255, blank=True, default="", help_text="Queries go here; empty: through the controller"
    )
    pinot_name = models.CharField(
        max_length=255, blank=True, default="", help_text="The cluster's name in Pinot, learnt from its controller"
    )
    zookeeper = models.CharField(
        max_length=255, blank=True, default="", help_text="host:port,host:port; empty: read over REST only"
    )
    zookeeper_cluster = models.CharField(
        max_length=255, blank=True, default="", help_text="Path of the cluster in ZooKeeper"
    )
    zookeeper_user = models.CharField(
        max_length=150, blank=True, default="", help_text="Of a digest login; empty: none"
    )
    zookeeper_source = models.CharField(
        max_length=512, blank=True, default="", help_text="Where its password is, as auth_source"
    )
    deep_store_url = models.CharField(
        max_length=512, blank=True, default="", help_text="Where pushes may put segments; empty: uploads by tar"
    )
    auth = models.CharField(max_length=16, choices=Auth, blank=True, default=Auth.NONE)
    auth_user = models.CharField(max_length=150, blank=True, default="")
    auth_source = models.CharField(
        max_length=512,
        blank=True,
        default="",
        help_text="Where the secret is: stored (private file), env:NAME or file:PATH",
    )
    tls_ca = models.CharField(max_length=512, blank=True, default="", help_text="File of certificate authorities")
    tls_cert = models.CharField(max_length=512, blank=True, default="", help_text="File of our certificate")
    tls_key = models.CharField(
        max_length=512, blank=True, default="", help_text="File of its key; empty: in the same file"
    )
    tls_insecure = models.BooleanField(default=False, help_text="Certificates are not checked")
    configured_at = models.DateTimeField(
        null=True, blank=True, help_text="Last change of what is above; connections are then made again"
    )
    state = models.CharField(max_length=16, choices=State, default=State.UNKNOWN)
    state_since = models.DateTimeField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    last_error = models.TextField(blank=True, default="")
    version = models.CharField(max_length=128, blank=True, default="", help_text="Of Pinot's controller")
    mirrored_at = models.DateTimeField(
        null=True, blank=True, help_text="When the mirror was last in step with the cluster"
    )
    mirror_error = models.TextField(blank=True, default="", help_text="Why the mirror cannot follow; empty: it does")
    mirror_error_since = models.DateTimeField(null=True, blank=True)
    mirror_progress = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="How far a mirror that began is; empty: through"
    )
    calls_per_minute = models.PositiveIntegerField(default=0, help_text="Requests of the mirror to the controller")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_pinot(self) -> bool:
        """Is it driven through a Pinot controller?"""
        return self.kind == self.Kind.PINOT

    @property
    def has_connection(self) -> bool:
        """Is it reached over a connection that may fail? The installation's own cluster is not."""
        return self.kind != self.Kind.EMBEDDED

    @property
    def is_trouble(self) -> bool:
        """Is there something a page must say about the connection?"""
        return self.has_connection and (
            self.state not in (self.State.UP, self.State.UNKNOWN) or bool(self.mirror_error)
        )


class Table(models.Model):
    """Mirror of one table: config, schema, and sums over its segments."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="tables")
    name = models.CharField(max_length=255, help_text="Typed name, e.g. flights_OFFLINE")
    raw_name = models.CharField(max_length=255)
    type = models.CharField(max_length=16)
    config = models.JSONField(default=dict)
    schema = models.JSONField(default=dict)
    replication = models.PositiveIntegerField(default=1)
    ingestion_type = models.CharField(max_length=16, default="APPEND")
    segments_total = models.PositiveIntegerField(default=0)
    segments_visible = models.PositiveIntegerField(default=0)
    replicas_wanted = models.PositiveIntegerField(default=0)
    replicas_online = models.PositiveIntegerField(default=0)
    rows_visible = models.BigIntegerField(default=0)
    bytes_total = models.BigIntegerField(default=0)
    bytes_visible = models.BigIntegerField(default=0)
    consuming_segments = models.PositiveIntegerField(default=0, help_text="Segments with a replica that should consume")
    segments_short = models.PositiveIntegerField(default=0, help_text="Segments with fewer replicas online than wanted")
    segments_unserved = models.PositiveIntegerField(default=0, help_text="Segments without a replica online")
    segments_in_error = models.PositiveIntegerField(default=0, help_text="Segments with a replica in ERROR")
    segments_committing = models.PositiveIntegerField(default=0, help_text="Segments between commit start and end")
    segments_unrecoverable = models.PositiveIntegerField(
        default=0, help_text="Of these, segments with a replica in ERROR and none online"
    )
    segments_without_url = models.PositiveIntegerField(
        default=0, help_text="Segments that consume no more and have no download address"
    )
    pause = models.JSONField(
        default=dict, help_text="Pinot's pause state: paused, reasonCode, comment, inactive topics, partitions"
    )
    is_disabled = models.BooleanField(default=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        unique_together = [("cluster", "name")]
        ordering = ["name"]
        permissions = [
            ("read", "Can read and query every table when reading is restricted"),
            ("operate", "Can push, end, revert and run passes"),
            ("administer", "Can create, change and delete tables, schemas and segments"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_paused(self) -> bool:
        """Is the whole table paused?"""
        return bool(self.pause.get("paused"))


class Segment(models.Model):
    """Mirror of one segment: its record, its replicas, and whether queries see it."""

    table = models.ForeignKey(Table, on_delete=models.CASCADE, related_name="segments")
    name = models.CharField(max_length=512)
    status = models.CharField(max_length=16, default="UPLOADED")
    crc = models.BigIntegerField(null=True)
    total_docs = models.BigIntegerField(null=True)
    size_bytes = models.BigIntegerField(null=True)
    start_ms = models.BigIntegerField(null=True)
    end_ms = models.BigIntegerField(null=True)
    creation_ms = models.BigIntegerField(null=True)
    push_ms = models.BigIntegerField(null=True)
    refresh_ms = models.BigIntegerField(null=True)
    download_url = models.TextField(blank=True, default="")
    is_visible = models.BooleanField(default=True)
    partition = models.PositiveIntegerField(null=True, help_text="Only of segments made from a stream")
    sequence = models.PositiveIntegerField(null=True)
    start_offset = models.CharField(max_length=128, blank=True, default="")
    end_offset = models.CharField(max_length=128, blank=True, default="", help_text="Exclusive; empty while consuming")
    flush_rows = models.BigIntegerField(null=True, help_text="The segment ends at this number of rows")
    is_consuming = models.BooleanField(default=False, help_text="A replica should consume")
    replicas = models.JSONField(default=dict, help_text="{instance: state} of the external view")
    replicas_wanted = models.PositiveIntegerField(default=0)
    replicas_online = models.PositiveIntegerField(default=0)

    class Meta:
        unique_together = [("table", "name")]
        indexes = [
            models.Index(fields=["table", "is_visible", "name"]),
            models.Index(fields=["table", "start_ms"]),
            models.Index(fields=["table", "is_consuming", "partition"]),
            models.Index(fields=["name"], name="segment_name"),
        ]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ConsumingSegments(models.Manager["ConsumingSegment"]):
    """Only segments that a replica should consume."""

    def get_queryset(self) -> models.QuerySet[ConsumingSegment]:
        """The rows."""
        return super().get_queryset().filter(is_consuming=True)


class ConsumingSegment(Segment):
    """A segment that is being filled from a stream."""

    objects: ClassVar[ConsumingSegments] = ConsumingSegments()

    class Meta:
        proxy = True
        ordering = ["table", "partition"]


class LagSample(models.Model):
    """How far one partition was behind its stream at one moment; kept for a day. None: not known then."""

    table = models.ForeignKey(Table, on_delete=models.CASCADE, related_name="lag")
    partition = models.PositiveIntegerField()
    at = models.DateTimeField(db_index=True)
    messages = models.BigIntegerField(null=True, help_text="Messages in the stream that are not consumed")
    behind_ms = models.BigIntegerField(
        null=True, help_text="Age of the last consumed message, 0 when there is nothing to consume"
    )
    offset = models.CharField(max_length=128, blank=True, default="", help_text="Next offset to consume")
    rows = models.BigIntegerField(null=True, help_text="Rows in the consuming segment")
    sequence = models.PositiveIntegerField(null=True, help_text="Of the consuming segment, or of the one to come")
    rows_per_s = models.FloatField(null=True, help_text="Rows stored per second since the sample before")
    end = models.CharField(max_length=128, blank=True, default="", help_text="The stream's end, where it was asked")
    unread_since = models.DateTimeField(null=True, help_text="When the first unread message was stored")
    expires_at = models.DateTimeField(null=True, help_text="When it leaves the stream")
    lost = models.BigIntegerField(null=True, default=0, help_text="Messages that went unread; empty: some")
    keeps = models.CharField(max_length=200, blank=True, default="", help_text="How long the stream keeps messages")

    class Meta:
        indexes = [models.Index(fields=["table", "partition", "at"]), models.Index(fields=["table", "at"])]
        ordering = ["at"]

    def __str__(self) -> str:
        return f"{self.table_id} {self.partition} {self.at:%H:%M:%S}"


class LineageEntry(models.Model):
    """Mirror of one replacement."""

    table = models.ForeignKey(Table, on_delete=models.CASCADE, related_name="lineage")
    entry_id = models.CharField(max_length=64)
    segments_from = models.JSONField(default=list)
    segments_to = models.JSONField(default=list)
    state = models.CharField(max_length=16)
    timestamp_ms = models.BigIntegerField()
    notes = models.JSONField(default=dict)

    class Meta:
        unique_together = [("table", "entry_id")]
        ordering = ["-timestamp_ms", "-entry_id"]
        verbose_name_plural = "lineage entries"

    def __str__(self) -> str:
        return f"{self.entry_id} ({self.state})"
