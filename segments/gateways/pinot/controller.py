"""A Pinot controller over REST: reads that are repeated, changes that are sent once, and failures by type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from segments.gateways.pinot.circuit import Circuit

#: Values of parameters: a sequence is sent as the parameter repeated, None not at all, booleans as Pinot spells them.
Params = Mapping[str, Any]


@dataclass(frozen=True)
class PinotReply:
    """An answer as it came, whatever its status; ``body`` gives its bytes once."""

    status: int
    headers: Mapping[str, str]
    body: Iterator[bytes]


class PinotController(Protocol):
    """One cluster's controller, whichever of its addresses answers.

    Paths begin with ``/`` and are already quoted. Every call raises ``PinotRefused`` when Pinot says no (any 4xx but
    401, and 500), and ``ControllerFault`` (Unavailable: down, refused, untrusted, unexpected, wrong-cluster) when
    nothing was done because it cannot be used.
    """

    @property
    def url(self) -> str:
        """The address used last, without a slash at the end."""

    def get(self, path: str, params: Params | None = None, *, timeout: float | None = None) -> Any:
        """The JSON of an answer (None for an empty one). Repeated over all addresses before it fails."""

    def text(self, path: str, params: Params | None = None, *, timeout: float | None = None) -> str:
        """The text of an answer, for the few paths that are not JSON."""

    def read(
        self, method: str, path: str, params: Params | None = None, body: Any = None, *, timeout: float | None = None
    ) -> Any:
        """As ``get`` with another method, for a POST that changes nothing (queries, validation of a config)."""

    def send(
        self,
        method: str,
        path: str,
        params: Params | None = None,
        body: Any = None,
        files: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """A change, sent once. ``body``: text or bytes as they are, all else as JSON; ``files`` as for httpx.

        Returns the JSON of the answer, or its text where it is none. Raises OutcomeUnknown when the reply was lost
        (also 502, 503, 504): read before anything else; Unavailable when it was never sent.
        """

    def stream(
        self,
        method: str,
        path: str,
        params: Params | list[tuple[str, str]] | None = None,
        body: bytes | Iterator[bytes] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> AbstractContextManager[PinotReply]:
        """Any request passed through, any status passed back; for a GET or HEAD another address is tried, all else is
        sent once.
        """

    def version(self) -> str:
        """Version of its controller as it says, e.g. ``1.2.0``; kept for a minute."""

    def cluster(self) -> str:
        """The name of the Helix cluster that it says it belongs to."""

    def circuit(self) -> Circuit:
        """Whether it can be used, since when, and if not why. Asks nothing."""

    def calls(self) -> int:
        """Requests sent so far by this process."""

    def close(self) -> None:
        """Close connections as soon as nobody is in the middle of an answer; what is still asked later leaves none
        open.
        """
