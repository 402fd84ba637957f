"""The servers' side of the segment completion protocol: HTTP to the controller, signed with the cluster's secret.

No call raises for a controller that does not answer: the answer is NOT_SENT then, and the server holds, as Pinot's
servers do.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import httpx

from segments import traces
from segments.domain.access.cluster_signature import ANSWER_HEADER
from segments.errors import PinotAdminError
from segments.gateways.signed_calls import CallSigner, check_answer
from segments.gateways.tls.trust import Trust
from segments.gateways.web_addresses import WebAddresses, as_addresses

log = logging.getLogger(__name__)

COMMIT: Final = "COMMIT"
HOLD: Final = "HOLD"
CATCH_UP: Final = "CATCH_UP"
KEEP: Final = "KEEP"
DISCARD: Final = "DISCARD"
NOT_LEADER: Final = "NOT_LEADER"
FAILED: Final = "FAILED"
COMMIT_CONTINUE: Final = "COMMIT_CONTINUE"
COMMIT_SUCCESS: Final = "COMMIT_SUCCESS"
PROCESSED: Final = "PROCESSED"
UPLOAD_SUCCESS: Final = "UPLOAD_SUCCESS"
_BINARY: Final = "application/octet-stream"
#: Never on the wire: there was no answer, or one that makes no sense.
NOT_SENT: Final = "NOT_SENT"


@dataclass(frozen=True)
class Answer:
    """What the controller says. ``offset`` is the winning one with CATCH_UP; ``build_time_s`` is the committer's time
    (-1: none); ``location`` is where an upload lies.
    """

    status: str
    offset: str | None = None
    build_time_s: int = -1
    location: str | None = None

    @classmethod
    def of(cls, body: Any) -> Answer:
        """From the JSON of an answer; NOT_SENT for anything that is none."""
        if not isinstance(body, dict) or not isinstance(body.get("status"), str):
            return cls(NOT_SENT)
        offset, seconds = body.get("streamPartitionMsgOffset"), body.get("buildTimeSec")
        return cls(
            body["status"],
            None if offset is None else str(offset),
            int(seconds) if isinstance(seconds, int | float) else -1,
            body.get("segmentLocation"),
        )


@dataclass(frozen=True)
class Report:
    """What a message says of the sender: the segment, where it stands (exclusive end offset as text),
    and its figures. ``has_read_on``: it has rows behind its end in memory, or is reading them.
    """

    segment: str
    instance: str
    offset: str
    reason: str | None = None
    rows: int = 0
    memory_bytes: int = 0
    build_ms: int = 0
    wait_ms: int = 0
    size_bytes: int = 0
    extra_time_s: int = 0
    has_read_on: bool = False

    def params(self) -> dict[str, str]:
        """Query parameters: numbers only when above zero, text only when there is one."""
        numbers = {
            "rowCount": self.rows, "memoryUsedBytes": self.memory_bytes, "buildTimeMillis": self.build_ms,
            "waitTimeMillis": self.wait_ms, "segmentSizeBytes": self.size_bytes, "extraTimeSec": self.extra_time_s,
        }  # fmt: skip
        given = {
            "name": self.segment,
            "instance": self.instance,
            "streamPartitionMsgOffset": self.offset,
            "reason": self.reason,
            "hasReadOn": "true" if self.has_read_on else None,
        }
        texts = {k: v for k, v in given.items() if v is not None}
        return texts | {k: str(v) for k, v in numbers.items() if v > 0}


class Controller(Protocol):
    """What a consuming server says to the controller; every call returns an ``Answer`` and raises nothing."""

    def consumed(self, report: Report) -> Answer:
        """GET /segmentConsumed: I stopped at this offset, what now?"""

    def stopped(self, report: Report) -> Answer:
        """GET /segmentStoppedConsuming: I cannot go on with this segment."""

    def commit_start(self, report: Report) -> Answer:
        """GET /segmentCommitStart: built, about to upload."""

    def extend_build_time(self, report: Report) -> Answer:
        """GET /extendBuildTime: I need longer."""

    def build_failed(self, report: Report) -> Answer:
        """GET /segmentBuildDeterministicFailure: this many rows can never be built."""

    def upload(self, report: Report, tar: Path) -> Answer:
        """POST /segmentUpload: the tar, for a server that does not write to the deep store itself."""

    def commit_end(self, report: Report, location: str, files: Mapping[str, Path]) -> Answer:
        """POST /segmentCommitEndWithMetadata with ``metadata.properties`` and ``creation.meta``."""


class HttpController:
    """``Controller`` over HTTP. With several addresses the next one is asked when one does not answer: any web process
    will do (rule `any-process-answers`). ``trust``: whom we believe that speaks TLS.
    """

    def __init__(
        self,
        urls: Sequence[str] | WebAddresses,
        signer: CallSigner,
        *,
        call_s: float = 10.0,
        upload_s: float = 300.0,
        trust: Trust | None = None,
    ) -> None:
        self._webs, self._trust = as_addresses(urls), trust or Trust()
        self._signer, self._call_s, self._upload_s = signer, call_s, upload_s
        # What is signed is the body as it is sent: not compressed.
        headers = {"Accept-Encoding": "identity"}
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(call_s, connect=3.0),
            trust_env=False,
            verify=self._trust.context,
        )

    def close(self) -> None:
        """Close idle connections."""
        self._client.close()

    def consumed(self, report: Report) -> Answer:
        """GET /segmentConsumed."""
        return self._call("GET", "segmentConsumed", report)

    def stopped(self, report: Report) -> Answer:
        """GET /segmentStoppedConsuming."""
        return self._call("GET", "segmentStoppedConsuming", report)

    def commit_start(self, report: Report) -> Answer:
        """GET /segmentCommitStart."""
        return self._call("GET", "segmentCommitStart", report)

    def extend_build_time(self, report: Report) -> Answer:
        """GET /extendBuildTime."""
        return self._call("GET", "extendBuildTime", report)

    def build_failed(self, report: Report) -> Answer:
        """GET /segmentBuildDeterministicFailure."""
        return self._call("GET", "segmentBuildDeterministicFailure", report)

    def upload(self, report: Report, tar: Path) -> Answer:
        """POST /segmentUpload."""
        return self._call("POST", "segmentUpload", report, files={report.segment: tar})

    def commit_end(self, report: Report, location: str, files: Mapping[str, Path]) -> Answer:
        """POST /segmentCommitEndWithMetadata."""
        return self._call("POST", "segmentCommitEndWithMetadata", report, {"location": location}, files)

    def _call(
        self,
        method: str,
        message: str,
        report: Report,
        more: Mapping[str, str] | None = None,
        files: Mapping[str, Path] | None = None,
    ) -> Answer:
        """One message, at each address until one answers. Repeating is harmless: every message is idempotent (rule
        `repeats-are-harmless`).
        """
        params = {**report.params(), **(more or {})}
        with traces.step(message):
            for url in self._webs.urls():
                answer = self._ask(method, f"{url}/{message}", params, files)
                if answer.status != NOT_SENT:
                    self._webs.answered(url)
                    return answer
                self._webs.failed(url)
        return Answer(NOT_SENT)

    def _ask(self, method: str, url: str, params: Mapping[str, str], files: Mapping[str, Path] | None) -> Answer:
        for is_second in (False, True):
            try:
                return self._ask_signed(method, url, params, files)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as error:
                if is_second:  # the first may have met a connection that was closed while idle
                    log.warning("%s could not be asked: %s", url, self._trust.why(error))
            except (httpx.HTTPError, OSError, PinotAdminError) as error:
                log.warning("%s could not be asked: %s", url, self._trust.why(error))
                break
        return Answer(NOT_SENT)

    def _ask_signed(self, method: str, url: str, params: Mapping[str, str], files: Mapping[str, Path] | None) -> Answer:
        """Unavailable when the answer does not come from a process of this cluster."""
        timeout = httpx.Timeout(self._call_s if files is None else self._upload_s, connect=3.0)
        with ExitStack() as opened:
            parts = {
                name: (name, opened.enter_context(path.open("rb")), _BINARY) for name, path in (files or {}).items()
            }
            request = self._client.build_request(method, url, params=params, files=parts or None, timeout=timeout)
            call = self._signer.sign(method, url, request.url.raw_path.decode("ascii"), body_digest(request))
            request.headers.update({"Authorization": call.header, **traces.sent()})
            response = self._client.send(request)
        answer = self._read(url, response)
        if answer.status != NOT_SENT:
            check_answer(call, url, response.headers.get(ANSWER_HEADER), response.status_code, response.content)
        return answer

    @staticmethod
    def _read(url: str, response: httpx.Response) -> Answer:
        try:
            answer = Answer.of(response.json())
        except ValueError:
            answer = Answer(NOT_SENT)
        if answer.status == NOT_SENT:
            log.warning("%s answers %s: %s", url, response.status_code, response.text[:300])
        return answer


def body_digest(request: httpx.Request) -> str:
    """SHA-256 of the body in hex. A file is read once for it, and again when it is sent."""
    if not isinstance(request.stream, httpx.SyncByteStream):
        raise TypeError("only bodies that can be read twice are signed")
    seen = hashlib.sha256()
    for piece in request.stream:
        seen.update(piece)
    return seen.hexdigest()
