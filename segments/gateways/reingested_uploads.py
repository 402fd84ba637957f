"""The servers' side of ``POST /segments/reingested``: a segment that was built again is described to a web process,
which takes its uploaded file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import httpx

from segments.domain.access.cluster_signature import ANSWER_HEADER
from segments.errors import NotFound, PinotAdminError, Rejected, StateConflict, Unavailable
from segments.gateways.controller_protocol import body_digest
from segments.gateways.signed_calls import CallSigner, check_answer
from segments.gateways.tls.trust import Trust
from segments.gateways.web_addresses import WebAddresses, as_addresses

#: Statuses by which an upload is refused for good.
_REFUSED: Final = {404: NotFound, 409: StateConflict}
_FIRST_REFUSAL: Final = 400
_FIRST_FAULT: Final = 500


class ReingestedUploads(Protocol):
    """Where segments that were built again are registered."""

    def register(self, raw_table: str, segment: str, location: str, metadata: Path) -> None:
        """``location``: where its file was uploaded; ``metadata``: a tar of its two small files.

        Rejected (NotFound, StateConflict) when it is refused, Unavailable when nobody knows what became of it.
        """

    def close(self) -> None:
        """End idle connections."""


class HttpReingestedUploads:
    """``ReingestedUploads`` over HTTP; with several addresses the next one is asked when one does not answer.
    ``trust``: whom we believe that speaks TLS.
    """

    def __init__(
        self,
        urls: Sequence[str] | WebAddresses,
        signer: CallSigner,
        *,
        timeout_s: float = 120.0,
        trust: Trust | None = None,
    ) -> None:
        self._webs, self._trust = as_addresses(urls), trust or Trust()
        self._signer = signer
        headers = {"Accept-Encoding": "identity"}
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(timeout_s, connect=3.0),
            trust_env=False,
            verify=self._trust.context,
        )

    def close(self) -> None:
        """End idle connections."""
        self._client.close()

    def register(self, raw_table: str, segment: str, location: str, metadata: Path) -> None:
        """POST /segments/reingested."""
        problem = Unavailable("This server knows no address of a web process.")
        for url in self._webs.urls():
            try:
                self._post(f"{url}/segments/reingested", raw_table, segment, location, metadata)
                return self._webs.answered(url)
            except Rejected:
                self._webs.answered(url)
                raise
            except (httpx.HTTPError, OSError, PinotAdminError) as error:
                self._webs.failed(url)
                problem = Unavailable(f"{url} does not answer: {self._trust.why(error)}.")
        raise problem

    def _post(self, url: str, raw_table: str, segment: str, location: str, metadata: Path) -> None:
        headers = {"UPLOAD_TYPE": "METADATA", "DOWNLOAD_URI": location, "COPY_SEGMENT_TO_DEEP_STORE": "true"}
        with metadata.open("rb") as body:
            files = {segment: (f"{segment}.tar.gz", body, "application/octet-stream")}
            request = self._client.build_request(
                "POST", url, params={"tableName": raw_table}, files=files, headers=headers
            )
            call = self._signer.sign("POST", url, request.url.raw_path.decode("ascii"), body_digest(request))
            request.headers["Authorization"] = call.header
            response = self._client.send(request)
        check_answer(call, url, response.headers.get(ANSWER_HEADER), response.status_code, response.content)
        if response.status_code >= _FIRST_FAULT:
            raise Unavailable(f"{url} answers {response.status_code}: {response.text[:300]}")
        if response.status_code >= _FIRST_REFUSAL:
            raise _REFUSED.get(response.status_code, Rejected)(f"Segment '{segment}' is refused: {response.text[:300]}")
