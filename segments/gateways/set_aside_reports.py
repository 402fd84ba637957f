"""Hands messages that a server set aside to a web process, which keeps them: signed, one report at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final, Protocol
from urllib.parse import quote

import httpx

from segments.domain.access.cluster_signature import ANSWER_HEADER
from segments.errors import InvalidInput, PinotAdminError, Unavailable
from segments.gateways.signed_calls import CallSigner, check_answer
from segments.gateways.tls.trust import Trust
from segments.gateways.web_addresses import WebAddresses, as_addresses

#: Statuses by which a report is refused for good: sending it again would not help.
_REFUSED: Final = (400, 404, 413, 422)


class Reports(Protocol):
    """Where reports go."""

    def send(self, table: str, body: bytes) -> None:
        """A report as JSON about a typed table. InvalidInput when it is refused for good, Unavailable when it has to be
        sent again.
        """

    def close(self) -> None:
        """End idle connections."""


class HttpReports:
    """``Reports`` over HTTP; with several addresses the next one is asked when one does not answer. ``trust``: whom we
    believe that speaks TLS.
    """

    def __init__(
        self,
        urls: Sequence[str] | WebAddresses,
        signer: CallSigner,
        *,
        timeout_s: float = 10.0,
        trust: Trust | None = None,
    ) -> None:
        self._webs, self._trust = as_addresses(urls), trust or Trust()
        self._signer = signer
        headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(timeout_s, connect=3.0),
            trust_env=False,
            verify=self._trust.context,
        )

    def close(self) -> None:
        """End idle connections."""
        self._client.close()

    def send(self, table: str, body: bytes) -> None:
        """POST /api/v1/tables/{table}/set-aside."""
        problem: PinotAdminError = Unavailable("This server knows no address of a web process.")
        for url in self._webs.urls():
            try:
                self._send(f"{url}/api/v1/tables/{quote(table, safe='')}/set-aside", body)
            except InvalidInput:
                raise
            except (httpx.HTTPError, PinotAdminError) as error:
                self._webs.failed(url)
                silent = Unavailable(f"{url} does not answer: {self._trust.why(error)}.")
                problem = error if isinstance(error, PinotAdminError) else silent
            else:
                self._webs.answered(url)
                return
        raise problem if not problem.permanent else Unavailable(str(problem))

    def _send(self, url: str, body: bytes) -> None:
        request = self._client.build_request("POST", url, content=body)
        call = self._signer.sign("POST", url, request.url.raw_path.decode("ascii"), hashlib.sha256(body).hexdigest())
        request.headers["Authorization"] = call.header
        response: Any = self._client.send(request)
        if response.status_code == httpx.codes.OK or response.status_code in _REFUSED:
            check_answer(call, url, response.headers.get(ANSWER_HEADER), response.status_code, response.content)
        if response.status_code in _REFUSED:
            raise InvalidInput(f"{url} refuses a report with {response.status_code}: {response.text[:300]}")
        if response.status_code != httpx.codes.OK:
            raise Unavailable(f"{url} answers {response.status_code}: {response.text[:300]}")
