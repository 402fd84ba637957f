"""Django models: mirrors of what ZooKeeper holds, and records of our own. The truth about segments and lineage is in
ZooKeeper.
"""

from __future__ import annotations

from segments.models.alerts import AlertDelivery, Webhook
from segments.models.config_versions import ConfigVersion
from segments.models.ingestion import IngestionAttempt, IngestionFile, IngestionSession
from segments.models.mirrors import Cluster, ConsumingSegment, LagSample, LineageEntry, Segment, Table
from segments.models.people import ApiToken, Grant, PersonSetting, SignOnIdentity, TourMark
from segments.models.pushes import Push, PushReport, PushSegment
from segments.models.queries import KeptQuery
from segments.models.records import AuditEvent, Finding, FindingSnooze, PassRun
from segments.models.set_aside import SetAsideCount, SetAsideMessage, SetAsideReplay
from segments.models.snapshots import Snapshot

__all__ = [
    "AlertDelivery",
    "ApiToken",
    "AuditEvent",
    "Cluster",
    "ConfigVersion",
    "ConsumingSegment",
    "Finding",
    "FindingSnooze",
    "Grant",
    "IngestionAttempt",
    "IngestionFile",
    "IngestionSession",
    "KeptQuery",
    "LagSample",
    "LineageEntry",
    "PassRun",
    "PersonSetting",
    "Push",
    "PushReport",
    "PushSegment",
    "Segment",
    "SetAsideCount",
    "SetAsideMessage",
    "SetAsideReplay",
    "SignOnIdentity",
    "Snapshot",
    "Table",
    "TourMark",
    "Webhook",
]
