"""The segment completion protocol as Pinot's servers use it, at the root.

A message that lacks a parameter is answered FAILED with status 200, as Pinot's servers expect; one that makes no sense
is a 4xx, which they take for no answer and repeat. Neither changes anything. Messages are not audited one by one; the
log records commits.
"""

from __future__ import annotations

import logging
from typing import Final, cast

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, int_param, text_param
from segments.api.segments.segment_uploads import UploadView
from segments.domain.realtime.completion import Answer, Kind
from segments.errors import InvalidInput, PayloadTooLarge, SegmentCorrupt
from segments.segmentfile.format.info import SegmentInfo, parse_info
from segments.services.engine.commits import FAILED, Received
from segments.services.metrics.commits import count_message

log = logging.getLogger(__name__)

_METADATA: Final = "metadata.properties"
_CREATION: Final = "creation.meta"
_WHO: Final = ("instance", "name", "streamPartitionMsgOffset")
_FIGURES: Final = ("memoryUsedBytes", "buildTimeMillis", "waitTimeMillis", "rowCount", "segmentSizeBytes")
#: The two files of a commit end are small; more than this is none of ours.
_LARGEST_PART: Final = 64 << 20


class _OfServers(ApiView):
    """What servers say of a commit. A commit end names any file, which is beyond one table: it takes the right for
    everything.
    """

    def table_asked(self, request: Request) -> str | None:
        """None, whatever the parameters name: the handlers go by the segment's name."""
        return None


class CompletionMessage(_OfServers):
    """One GET of the protocol; ``kind`` says which."""

    rights = {"GET": "operate"}
    for_cluster = frozenset(("GET",))
    parameters = {"GET": (*_WHO, "reason", "extraTimeSec", "hasReadOn", *_FIGURES)}
    kind = Kind.CONSUMED

    def get(self, request: Request) -> Response:
        """What the server is to do."""
        received = _received(request, self.kind)
        answer = self.ctx.engine.commits.answer(self.ctx, received) if received is not None else FAILED
        count_message(self.ctx.cluster, self.kind, answer, received)
        return _answered(answer)


class CommitEnd(_OfServers):
    """The committer is done: its segment is registered and the next one opened."""

    rights = {"POST": "operate"}
    for_cluster = frozenset(("POST",))
    parameters = {"POST": (*_WHO, "location", "reason", "hasReadOn", *_FIGURES)}
    parser_classes = (MultiPartParser,)

    @property
    def largest_body(self) -> int:
        """The two files of a commit end are small."""
        return _LARGEST_PART

    def post(self, request: Request) -> Response:
        """Takes ``metadata.properties`` and ``creation.meta`` as parts of a multipart body."""
        location, info = text_param(request, "location"), _read_parts(_parts(request))
        received = _received(request, Kind.COMMIT_END, location=location or "", info=info)
        is_whole = received is not None and location is not None and info is not None
        answer = self.ctx.engine.commits.answer(self.ctx, received) if is_whole and received is not None else FAILED
        count_message(self.ctx.cluster, Kind.COMMIT_END, answer, received)
        return _answered(answer)


class SegmentUpload(_OfServers, UploadView):
    """The tar of a segment about to be committed, from a server that does not write to the deep store itself."""

    for_cluster = frozenset(("POST",))
    parameters = {"POST": _WHO}

    def post(self, request: Request) -> Response:
        """Exactly one part, whose name is the segment's."""
        offset, name = text_param(request, "streamPartitionMsgOffset"), text_param(request, "name")
        try:
            with self.one_part(request) as tar:
                part = next(iter(request.FILES))
                if name is not None and name != part:
                    raise InvalidInput(f"The part is named '{part}', the segment '{name}'.")
                return _answered(self.ctx.engine.commits.upload(self.ctx, part, tar, offset))
        except (InvalidInput, PayloadTooLarge):
            return _answered(FAILED)


def _read_parts(parts: dict[str, bytes]) -> SegmentInfo | None:
    """What the two parts of a commit end say; None when one is missing or cannot be read."""
    if _METADATA not in parts or _CREATION not in parts:
        return None
    try:
        return parse_info(parts[_METADATA], parts[_CREATION])
    except SegmentCorrupt as error:
        log.warning("A commit end describes no segment: %s", error)
        return None


def _received(request: Request, kind: Kind, **more: object) -> Received | None:
    """The message; None when a parameter is missing that it needs. Raises InvalidInput for a number that is none."""
    instance, name, offset = (text_param(request, key) for key in _WHO)
    rows = _count(request, "rowCount")
    if instance is None or name is None:
        return None
    if (rows <= 0) if kind is Kind.BUILD_FAILED else (offset is None):
        return None
    return Received(
        kind, instance, name, offset if kind is not Kind.BUILD_FAILED else None, text_param(request, "reason"),
        extra_s=_count(request, "extraTimeSec"), rows=rows, size_bytes=_count(request, "segmentSizeBytes"),
        has_read_on=text_param(request, "hasReadOn") == "true", **more,  # type: ignore[arg-type]
    )  # fmt: skip


def _count(request: Request, name: str) -> int:
    return int_param(request, name) or 0


def _parts(request: Request) -> dict[str, bytes]:
    """The parts of the body that came as files or as plain fields; nothing when it is not a multipart body."""
    if not (request.content_type or "").startswith("multipart/form-data"):
        return {}
    found: dict[str, bytes] = {}
    for name, value in cast("QueryDict", request.data).items():
        if isinstance(value, UploadedFile):
            if (value.size or 0) <= _LARGEST_PART:
                found[name] = value.read()
        else:
            found[name] = str(value).encode()
    return found


def _answered(answer: Answer) -> Response:
    return Response(answer.to_json())
