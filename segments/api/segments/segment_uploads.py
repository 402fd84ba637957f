"""POST /v2/segments, /segments, /segments/batchUpload, /segments/reingested: segments come in, in every mode of Pinot's
clients.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypedDict, cast
from urllib.parse import parse_qsl

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, parse_bool, status, text_param
from segments.domain.segments.admission import Conditions
from segments.domain.segments.upload import parse_modifier
from segments.errors import Forbidden, InvalidInput, PayloadTooLarge
from segments.names import OFFLINE, TableName, resolve_table
from segments.services.core.context import Actor
from segments.services.realtime.realtime_state import realtime_table
from segments.services.realtime.reingestion.registration import register_reingested
from segments.services.segments import uploads
from segments.services.segments.batch_tar import read_batch
from segments.services.segments.uploads import UploadOptions

_TYPES: Final = ("SEGMENT", "URI", "METADATA", "JSON")
_MODIFIER: Final = "Pinot-SegmentZKMetadataCustomMapModifier"
_QUERY: Final = ("tableName", "tableType", "enableParallelPushProtection", "allowRefresh", "segmentLineageEntryId")
#: Names the running replacement that the upload belongs to, as the parameter segmentLineageEntryId does (rule
#: `fenced-uploads`).
_ENTRY: Final = "Pinot-Segment-Lineage-Entry-Id"
#: Bytes of a body that may hold parameters instead of a file.
_SMALL_BODY: Final = 4096


class _How(TypedDict):
    options: UploadOptions
    actor: Actor
    lineage_entry: str | None


_FORM_BYTES: Final = 1 << 20


class UploadView(ApiView):
    """Base: parts are streamed to temporary files, which are gone when the request is over."""

    on_pinot = frozenset(("POST",))

    #: The table that the request names, once it was found; the right is checked for it, and it is the one that is
    #: changed.
    _named: TableName | None = None

    def table_asked(self, request: Request) -> str | None:
        """The table that the request names; a tar alone may be for any, so it takes the right for everything."""
        named = self.table_named(request)
        return named.typed if named is not None else None

    def table_named(self, request: Request) -> TableName | None:
        """The table by tableName and tableType (default OFFLINE), or of a URI push by its small body. Raises
        InvalidInput.
        """
        if self._named is None:
            name = text_param(request, "tableName")
            if name is None and (_header(request, "UPLOAD_TYPE") or "").upper() == "URI":
                name = _table_in_body(request)
            self._named = _resolved(name, request) if name is not None else None
        return self._named

    def table_of(self, request: Request, tar: Path | None = None) -> TableName:
        """The table that is changed: the named one, else the one that the tar names. Raises InvalidInput."""
        named = self.table_named(request)
        if named is not None:
            return named
        if tar is None:
            raise InvalidInput("Parameter 'tableName' is missing.", remedy="Add tableName=...")
        return _resolved(uploads.table_in_tar(tar), request)

    rights = {"POST": "operate"}
    parameters = {"POST": _QUERY}
    parser_classes = (MultiPartParser,)

    @property
    def largest_body(self) -> int:
        """A tar, and what the form puts around it."""
        return int(settings.MAX_UPLOAD_BYTES) + _FORM_BYTES

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """Set the upload handler before anything (CSRF check included) reads the body."""
        request.upload_handlers = [TemporaryFileUploadHandler(request)]
        self.began_ms = self.ctx.clock()
        return super().initialize_request(request, *args, **kwargs)

    @contextmanager
    def one_part(self, request: Request) -> Iterator[Path]:
        """The file of the only part of a multipart body. Raises InvalidInput for none, several, or one that is too
        large.
        """
        if not (request.content_type or "").startswith("multipart/form-data"):
            raise InvalidInput("This upload must be multipart/form-data with the file as its one part.")
        self._check_length(request)
        data = request.data
        files = [f for _, listed in request.FILES.lists() for f in listed]
        try:
            if len(files) + sum(1 for key in data if key not in request.FILES) != 1 or not files:
                raise InvalidInput(
                    "Invalid multi-part form: exactly one part with a file is allowed.",
                    remedy="Send one request per file.",
                )
            file = cast(TemporaryUploadedFile, files[0])
            if (file.size or 0) > self.ctx.limits.upload_bytes:
                raise _too_large(f"The file has {file.size} bytes", self.ctx.limits.upload_bytes)
            yield Path(file.temporary_file_path())
        finally:
            for file in files:
                file.close()

    def how(self, request: Request) -> _How:
        """Conditions, actor and lineage entry of the upload."""
        entry = text_param(request, "segmentLineageEntryId") or _header(request, _ENTRY)
        return {
            "options": replace(_options(request), began_ms=self.began_ms),
            "actor": self.actor,
            "lineage_entry": entry,
        }

    def _check_length(self, request: Request) -> None:
        length = str(request.META.get("CONTENT_LENGTH") or "0")
        if length.isdigit() and int(length) > self.ctx.limits.upload_bytes + _FORM_BYTES:
            raise _too_large(f"The upload has {length} bytes", self.ctx.limits.upload_bytes)


def _too_large(what: str, most: int) -> PayloadTooLarge:
    return PayloadTooLarge(
        f"{what}, more than the {most} that are accepted.",
        remedy="Split the segment, or raise PINOTADMIN_MAX_UPLOAD_BYTES.",
    )


class UploadSegment(UploadView):
    """One segment: its tar, the address of its tar (URI), or its metadata with the address (METADATA)."""

    #: Does URI mode copy the file into the deep store? The old path keeps the address.
    copies_uri = True

    def post(self, request: Request) -> Response:
        """The mode is the header UPLOAD_TYPE: SEGMENT (default), URI or METADATA."""
        match _upload_type(request):
            case "URI":
                result = self._uri(request)
            case "METADATA":
                result = self._metadata(request)
            case _:
                with self.one_part(request) as tar:
                    result = uploads.upload_tar(self.ctx, self.table_of(request, tar), tar, **self.how(request))
        return _answer(f"Successfully uploaded segment: {result.segments[0]} of table: {result.table}", result)

    def _uri(self, request: Request) -> uploads.UploadResult:
        uri, table = _download_uri(request), self.table_of(request)
        return uploads.upload_uri(self.ctx, table, uri, copy=self.copies_uri, **self.how(request))

    def _metadata(self, request: Request) -> uploads.UploadResult:
        uri = _download_uri(request)
        with self.one_part(request) as tar:
            return uploads.upload_metadata_tar(self.ctx, self.table_of(request, tar), tar, uri, **self.how(request))


class UploadBatch(UploadView):
    """Many segments by their metadata, in one request."""

    def post(self, request: Request) -> Response:
        """All or none where it fits one transaction; tableName is required, tableType is OFFLINE unless given."""
        if _upload_type(request) != "METADATA":
            raise InvalidInput("A batch upload takes UPLOAD_TYPE METADATA only.")
        if text_param(request, "tableName") is None:
            raise InvalidInput("Parameter 'tableName' is required for a batch upload.", remedy="Add tableName=...")
        started = self.ctx.clock()
        with self.one_part(request) as tar:
            parts = read_batch(tar)
            result = uploads.upload_metadata(self.ctx, self.table_of(request), parts, **self.how(request))
        names = ", ".join(result.segments)
        return _answer(
            f"Successfully uploaded segments: [{names}] of table: {result.table} in {self.ctx.clock() - started} ms",
            result,
        )


class UploadReingested(UploadView):
    """A segment that a server built again because nobody had it any more."""

    parameters = {"POST": ("tableName",)}
    for_cluster = frozenset(("POST",))
    on_pinot = frozenset()

    def table_named(self, request: Request) -> TableName | None:
        """The REALTIME table of tableName. Raises InvalidInput."""
        name = text_param(request, "tableName")
        return realtime_table(name) if name is not None else None

    def post(self, request: Request) -> Response:
        """Takes METADATA with COPY_SEGMENT_TO_DEEP_STORE=true and DOWNLOAD_URI, and the metadata tar as its one part.

        The segment must be COMMITTING; it is DONE when this returns, and its replicas load it.
        """
        if _upload_type(request) != "METADATA":
            raise InvalidInput("A reingested segment is uploaded with UPLOAD_TYPE METADATA.")
        uri = _download_uri(request)
        if not _copies(request):
            raise InvalidInput("A reingested segment is uploaded with COPY_SEGMENT_TO_DEEP_STORE true.")
        with self.one_part(request) as tar:
            table = self.table_of(request)
            segment = register_reingested(self.ctx, table, tar, uri, actor=self.actor)
        return status(f"Successfully uploaded reingested segment: {segment} of table: {table.raw}")


def _answer(text: str, result: uploads.UploadResult) -> Response:
    return Response({"status": text, "warnings": list(result.warnings)}) if result.warnings else status(text)


def _upload_type(request: Request) -> str:
    given = (_header(request, "UPLOAD_TYPE") or "SEGMENT").upper()
    if given not in _TYPES or given == "JSON":
        raise InvalidInput(f"UPLOAD_TYPE '{given}' is not supported.", remedy="Use SEGMENT, URI or METADATA.")
    return given


def _header(request: Request, name: str) -> str | None:
    """A header that Pinot's clients spell with underscores, or with dashes as some proxies make it.

    Django drops names with underscores under ASGI (they could pass for others); these few are read from the connection
    itself.
    """
    plain = request._request
    value = request.headers.get(name.replace("_", "-"))
    if value is None and isinstance(plain, ASGIRequest):
        raw = name.lower().encode()
        value = next((v.decode("latin1") for k, v in plain.scope.get("headers", ()) if k.lower() == raw), None)
    return value.strip() or None if value else None


def _download_uri(request: Request) -> str:
    uri = _header(request, "DOWNLOAD_URI")
    if uri is None:
        raise InvalidInput(
            "Header DOWNLOAD_URI is required for this UPLOAD_TYPE.", remedy="Send the address of the segment's tar."
        )
    return uri


def _copies(request: Request) -> bool:
    return parse_bool(_header(request, "COPY_SEGMENT_TO_DEEP_STORE"), "COPY_SEGMENT_TO_DEEP_STORE", False)


def _options(request: Request) -> UploadOptions:
    if _header(request, "CRYPTER"):
        raise InvalidInput(
            "Encrypted segments are not supported by this cluster.", remedy="Upload without the header CRYPTER."
        )
    conditions = Conditions(
        allow_refresh=bool_param(request, "allowRefresh", True),
        refresh_only=parse_bool(_header(request, "REFRESH_ONLY"), "REFRESH_ONLY", False),
        if_match=_header(request, "If-Match"),
        is_protected=bool_param(request, "enableParallelPushProtection"),
    )
    return UploadOptions(conditions, _copies(request), parse_modifier(request.headers.get(_MODIFIER)))


def _resolved(name: str, request: Request) -> TableName:
    try:
        return resolve_table(name, text_param(request, "tableType") or OFFLINE)
    except Forbidden as error:
        raise InvalidInput(error.message, remedy=error.remedy) from error


def _table_in_body(request: Request) -> str | None:
    """Pinot's own URI push has the parameters in its body, as a form that calls itself JSON (Apache's HttpClient does
    that).
    """
    plain = request._request
    length = str(plain.META.get("CONTENT_LENGTH") or "")
    if not length.isdigit() or int(length) > _SMALL_BODY:
        return None
    return dict(parse_qsl(plain.body.decode(errors="replace"))).get("tableName") or None
