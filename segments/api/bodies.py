"""The JSON bodies of requests as typed models: what each may hold, checked once where it comes in."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec
from rest_framework.request import Request

from segments.api.base import json_body
from segments.domain.access.token_scope import EVERYTHING
from segments.domain.formats.json_model import Model, Whole, read_model
from segments.domain.formats.plural import counted
from segments.domain.push.push_model import RecordReader
from segments.domain.upkeep.run_properties import OFFSETS, REPAIR_ORDERED, SEGMENT_LEVEL
from segments.errors import PayloadTooLarge
from segments.names import shown
from segments.services.access.api_tokens import DEFAULT_DAYS

T = TypeVar("T")

#: Entries of a list, such as names of segments, and of an object in the body of a request.
MOST_LISTED: Final = 100_000
MOST_KEYS: Final = 1_000

#: Names of segments; that they can be names is checked where they are used.
Names = list[str]
Plain = str | int | float | bool | None


class StartBody(Model, forbid_unknown_fields=True):
    """Of ``startReplaceSegments``."""

    segments_from: Names | None = None
    segments_to: Names | None = None
    custom_map: dict[str, Plain] | None = None


class EndBody(Model, forbid_unknown_fields=True):
    """Of ``endReplaceSegments``; ``segmentsTo`` narrows the new side."""

    segments_to: Names | None = None
    custom_map: dict[str, Plain] | None = None


class RevertBody(Model, forbid_unknown_fields=True):
    """Of ``revertReplaceSegments``."""

    custom_map: dict[str, Plain] | None = None


class BackgroundEndBody(Model):
    """Of an end as a job."""

    segments_to: Names | None = None


class ReasonBody(Model):
    """Of a change that needs nothing but a reason."""

    reason: str | None = None


class SegmentsBody(Model, forbid_unknown_fields=True):
    """Of a request about many segments."""

    segments: Names | None = None
    dry_run: bool | None = None
    include_hidden: bool | None = None
    retention: str | None = None
    force: bool | None = None
    switch: bool | None = None
    overwrite: bool | None = None
    files: list[str] | None = None


class ReingestBody(Model, forbid_unknown_fields=True):
    """Of a reingestion."""

    segments: Names | None = None
    accept_loss: bool | None = None
    dry_run: bool | None = None


class RunBody(Model, forbid_unknown_fields=True):
    """Of a run of a periodic task: its properties, as Pinot names them."""

    repair_error_segments_for_partial_upsert_or_dedup: str | bool | None = None
    run_segment_level_validation: str | bool | None = None
    offset_criteria: str | None = None

    @property
    def properties(self) -> dict[str, str]:
        """Those that are given, as text."""
        given = {
            REPAIR_ORDERED: self.repair_error_segments_for_partial_upsert_or_dedup,
            SEGMENT_LEVEL: self.run_segment_level_validation,
            OFFSETS: self.offset_criteria,
        }
        return {k: str(v).lower() if isinstance(v, bool) else v for k, v in given.items() if v is not None}


class QueryBody(Model):
    """Of a query; ``queryOptions`` is ``a=b;c=d`` or an object."""

    sql: str | None = None
    query_options: str | dict[str, Any] | None = None


class InstanceBody(Model):
    """A new instance."""

    host: str | None = None
    port: Whole | None = None
    type: str | None = None
    tags: list[str] | None = None


class PartitionsBody(Model):
    """Which partitions stop or go on, and from where."""

    partitions: list[int] | None = None
    offsets: dict[str, str | int | float | bool | None] | None = None
    consume_from: str | None = None
    comment: str | None = None
    dry_run: bool | None = None


class PushBody(Model, forbid_unknown_fields=True):
    """A push with more than its job specification."""

    spec: dict[str, Any] | str
    reason: str | None = None
    override_checks: str | None = None
    overwrite: bool | None = None
    strict_snapshot: bool | None = None


class InferBody(Model, forbid_unknown_fields=True):
    """Files of which a table is to be made. The keys are those of a job specification; ``upload`` is the id of a file
    that was sent, ``inputDirURI`` a folder or a file below the input roots; ``stream`` is instead of both: a map as in
    ``streamConfigMaps`` of a REALTIME table.
    """

    table_name: str | None = None
    upload: str | None = None
    input_dir: str | None = msgspec.field(default=None, name="inputDirURI")
    include_file_name_pattern: str | None = None
    record_reader_spec: RecordReader | None = None
    pinot_fs_specs: list[dict[str, Any]] | None = msgspec.field(default=None, name="pinotFSSpecs")
    has_header: bool | None = None
    stream: dict[str, Plain] | None = None


class LoadBody(Model, forbid_unknown_fields=True):
    """A table to be: its documents, and the job that pushes its first rows."""

    table_name: str
    schema: dict[str, Any]
    table_config: dict[str, Any]
    job: dict[str, Any]
    reason: str | None = None


class TableConfigsBody(Model):
    """Pinot's ``TableConfigs``: all documents of one table."""

    table_name: str | None = None
    schema: dict[str, Any] | None = None
    offline: dict[str, Any] | None = None
    realtime: dict[str, Any] | None = None


class PreviewBody(Model, forbid_unknown_fields=True):
    """A table's documents as they are to be; what is left out stays."""

    config: dict[str, Any] | None = None
    schema: dict[str, Any] | None = None


class EditBody(PreviewBody, forbid_unknown_fields=True):
    """The same with the version that they were made from."""

    version: str | None = None
    reason: str | None = None


class VersionBody(Model, forbid_unknown_fields=True):
    """Of a revert: the present version, as it was read."""

    version: str | None = None
    reason: str | None = None


class TokenBody(Model, forbid_unknown_fields=True):
    """A new API token. Nothing of it can be null: what is left out is not to become more than was meant."""

    name: str = ""
    scopes: list[str] = []
    tables: str = EVERYTHING
    cluster: str = EVERYTHING
    expires_in_days: int = DEFAULT_DAYS


class WebhookBody(Model, forbid_unknown_fields=True):
    """A receiver of alerts; what is left out stays as it is."""

    name: str | None = None
    url: str | None = None
    tables: str | None = None
    cluster: str | None = None
    severity: str | None = None
    enabled: bool | None = None
    secret: str | None = None


class ClusterBody(Model, forbid_unknown_fields=True):
    """How a Pinot cluster is reached; what is left out stays as it is."""

    name: str | None = None
    controller_urls: list[str] | None = None
    broker_url: str | None = None
    zookeeper: str | None = None
    zookeeper_cluster: str | None = None
    zookeeper_user: str | None = None
    zookeeper_secret: str | None = None
    zookeeper_secret_source: str | None = None
    deep_store_url: str | None = None
    auth: str | None = None
    auth_user: str | None = None
    secret: str | None = None
    secret_source: str | None = None
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_insecure: bool | None = None


class ScheduleBody(Model, forbid_unknown_fields=True):
    """Is the schedule on?"""

    enabled: bool


class AssignBody(Model, forbid_unknown_fields=True):
    """Who takes care of a finding: the name with which they sign in; empty: nobody."""

    person: str


class SnoozeBody(Model, forbid_unknown_fields=True):
    """Until when nobody is to be notified of a finding: a length, as in 8h, or a time of ISO 8601."""

    period: str | None = None
    until: str | None = None


class ReplayBody(Model):
    """Which messages that were set aside are replayed."""

    ids: list[int] | None = None
    partition: Whole | None = None
    contains: str | None = None
    dry_run: bool | None = None


def read_body(request: Request, model: type[T], *, optional: bool = False) -> T:
    """The body as a model; without one ``optional`` gives an empty model.

    Raises InvalidInput that names the path, PayloadTooLarge for a list or an object with too many entries.
    """
    body = json_body(request, optional=optional)
    _check_entries("The body", body)
    if isinstance(body, dict):
        for key, value in body.items():
            _check_entries(f"'{shown(key)}'", value)
    return read_model(model, {} if body is None and optional else body, "the request's body")


def _check_entries(what: str, value: Any) -> None:
    most = MOST_LISTED if isinstance(value, list) else MOST_KEYS if isinstance(value, dict) else None
    if most is not None and len(value) > most:
        raise PayloadTooLarge(
            f"{what} has {counted(len(value), 'item')}; one request takes {most:,}.", remedy="Send several requests."
        )


def custom_map(body: StartBody | EndBody) -> dict[str, str]:
    """``customMap`` with its values as text."""
    found = body.custom_map or {}
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in found.items() if v is not None}
