"""Pause, resume, force commit and consumption of realtime tables at Pinot's paths."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, int_param, text_param
from segments.domain.realtime.force_commit import DEFAULT_INTERVAL_S, DEFAULT_TIMEOUT_S, MAX_BATCH, BatchSettings
from segments.domain.tables.table_config import parse_period
from segments.errors import InvalidInput
from segments.services.access.read_rights import require_reading
from segments.services.realtime import consuming_info, consumption, force_commit, sequence_deletion
from segments.services.realtime.consuming_segments import StartFrom, Word
from segments.services.realtime.force_commit import Wanted
from segments.services.realtime.realtime_state import realtime_table

_BATCH = ("batchSize", "batchStatusCheckIntervalSec", "batchStatusCheckTimeoutSec")
_WORDS: dict[str, Word] = {"lastconsumed": "lastConsumed", "smallest": "smallest", "largest": "largest"}


class PauseConsumption(ApiView):
    """Pause a table."""

    on_pinot = frozenset(("POST",))
    rights = {"POST": "operate"}
    parameters = {"POST": ("comment", "resumeAfter", *_BATCH)}

    def post(self, request: Request, table: str) -> Response:
        """The flag is set when this returns; poll pauseStatus until nothing consumes. ``resumeAfter`` (``30m``) plans
        the end.
        """
        batch = _batch(request)
        period = text_param(request, "resumeAfter")
        length = parse_period(period)
        if period is not None and not length:
            raise InvalidInput(f"'resumeAfter' must be a period such as 30m, not '{period}'.")
        end = self.ctx.clock() + length if length else None
        name = realtime_table(table)
        return Response(
            consumption.pause_table(
                self.ctx,
                name,
                comment=text_param(request, "comment"),
                resume_at_ms=end,
                batch=batch,
                actor=self.actor,
            )
        )


class ResumeConsumption(ApiView):
    """Resume a table."""

    on_pinot = frozenset(("POST",))
    rights = {"POST": "operate"}
    parameters = {"POST": ("comment", "consumeFrom")}

    def post(self, request: Request, table: str) -> Response:
        """Flag and new consuming segments are one change; the answer lists what consumes then."""
        start = StartFrom(_word(request), is_chosen="consumeFrom" in request.query_params)
        comment = text_param(request, "comment")
        return Response(
            consumption.resume_table(self.ctx, realtime_table(table), start=start, comment=comment, actor=self.actor)
        )


class PauseStatus(ApiView):
    """Is the table paused?"""

    on_pinot = frozenset(("GET",))

    def get(self, request: Request, table: str) -> Response:
        """Flag, reason, comment, time, and what still consumes."""
        return Response(consumption.pause_status(self.ctx, realtime_table(table)))


class PauseTopics(ApiView):
    """Pause some of a table's topics."""

    on_pinot = frozenset(("POST",))
    rights = {"POST": "operate"}
    parameters = {"POST": ("topicIndices",)}

    def post(self, request: Request, table: str) -> Response:
        """``topicIndices`` are positions in streamConfigMaps: ``0,2``."""
        return Response(consumption.pause_topics(self.ctx, realtime_table(table), _topics(request), actor=self.actor))


class ResumeTopics(ApiView):
    """Resume some of a table's topics."""

    on_pinot = frozenset(("POST",))
    rights = {"POST": "operate"}
    parameters = {"POST": ("topicIndices", "consumeFrom")}

    def post(self, request: Request, table: str) -> Response:
        """``topicIndices`` are positions in streamConfigMaps."""
        start = StartFrom(_word(request), is_chosen="consumeFrom" in request.query_params)
        return Response(
            consumption.resume_topics(self.ctx, realtime_table(table), _topics(request), start=start, actor=self.actor)
        )


class ForceCommit(ApiView):
    """Commit consuming segments where they are."""

    on_pinot = frozenset(("POST",))
    rights = {"POST": "operate"}
    parameters = {"POST": ("partitions", "segments", *_BATCH)}

    def post(self, request: Request, table: str) -> Response:
        """All of them, or those of ``partitions``, or ``segments``; a job follows it."""
        partitions, segments = text_param(request, "partitions"), text_param(request, "segments")
        wanted = Wanted(
            _numbers("partitions", partitions) if partitions else None,
            [s.strip() for s in segments.split(",") if s.strip()] if segments else None,
        )
        return Response(
            force_commit.force_commit(self.ctx, realtime_table(table), wanted, _batch(request), actor=self.actor)
        )


class ForceCommitStatus(ApiView):
    """How far a force commit is."""

    on_pinot = frozenset(("GET",))
    #: Of the job's table, which is known once it is read.
    reading = "filtered"

    def get(self, request: Request, job: str) -> Response:
        """The job, what is still to be committed, and how much that is."""
        found = force_commit.job_status(self.ctx, job)
        require_reading(request.user, self.cluster_name, found.get("tableName"))
        return Response(found)


class ConsumingSegmentsInfo(ApiView):
    """What the replicas of consuming segments say of themselves."""

    on_pinot = frozenset(("GET",))

    def get(self, request: Request, table: str) -> Response:
        """State, offsets and lag of every replica."""
        return Response(consuming_info.consuming_segments_info(self.ctx, realtime_table(table)))


class ConsumerWatermarks(ApiView):
    """Where each partition goes on."""

    on_pinot = frozenset(("GET",))

    def get(self, request: Request, table: str) -> Response:
        """Next sequence and offset per partition."""
        return Response({"watermarks": consuming_info.consumer_watermarks(self.ctx, realtime_table(table))})


class PauselessDebugInfo(ApiView):
    """Commits that have started and not ended."""

    on_pinot = frozenset(("GET",))

    def get(self, request: Request, table: str) -> Response:
        """Segments in ERROR by server, and segments that are being committed."""
        return Response(consuming_info.pauseless_debug_info(self.ctx, realtime_table(table)))


class DeleteFromSequence(ApiView):
    """Delete the newest segments of partitions, to read their rows again."""

    on_pinot = frozenset(("DELETE",))
    rights = {"DELETE": "administer"}
    parameters = {"DELETE": ("segments", "dryRun", "force")}

    def delete(self, request: Request, table: str) -> Response:
        """From the given segments on, per partition. ``dryRun`` is true unless the call says false."""
        named = [s.strip() for text in request.query_params.getlist("segments") for s in text.split(",") if s.strip()]
        return Response(
            sequence_deletion.delete_from_sequence(
                self.ctx,
                table,
                named,
                dry_run=bool_param(request, "dryRun", True),
                force=bool_param(request, "force"),
                actor=self.actor,
            )
        )


def _batch(request: Request) -> BatchSettings:
    size, interval, timeout = (int_param(request, name) for name in _BATCH)
    return BatchSettings(
        MAX_BATCH if size is None else size,
        DEFAULT_INTERVAL_S if interval is None else interval,
        DEFAULT_TIMEOUT_S if timeout is None else timeout,
    )


def _word(request: Request) -> Word:
    return parse_word(request.query_params.get("consumeFrom"))


def parse_word(text: Any) -> Word:
    """Absent means lastConsumed; the empty text is wrong."""
    if text is None:
        return "lastConsumed"
    word = _WORDS.get(text.lower()) if isinstance(text, str) else None
    if word is None:
        raise InvalidInput(f"'consumeFrom' is {text!r}.", remedy="Use lastConsumed, smallest or largest.")
    return word


def _topics(request: Request) -> list[int]:
    return _numbers("topicIndices", text_param(request, "topicIndices") or "")


def _numbers(name: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise InvalidInput(
            f"'{name}' must be whole numbers separated by commas, not '{text}'.", remedy=f"For example {name}=0,2."
        ) from error
