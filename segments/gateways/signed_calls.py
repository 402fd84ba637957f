"""Signs requests to processes of the same cluster, and checks requests that claim to come from one
(``segments.domain.access.cluster_signature``).

Costs some ten microseconds a request on each side. Clocks of the machines may differ by ``WINDOW_MS``; a request is
taken once.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from urllib.parse import urlsplit

from segments.domain.access.cluster_signature import (
    NO_BODY,
    Call,
    address_of,
    answer_signature,
    call_signature,
    digest_of,
    format_header,
    is_same,
    parse_header,
    seal_of,
)
from segments.errors import NotAuthenticated, Unavailable
from segments.gateways.rate_limited_log import RateLimitedLog

_seldom = RateLimitedLog(logging.getLogger(__name__))
#: Milliseconds by which the time of a request may differ from the receiver's clock.
WINDOW_MS: Final = 60_000
_NO_SECRET: Final = "Set PINOTADMIN_CLUSTER_SECRET to the same text for all processes of the cluster."  # noqa: S105  # says what to do


def now_ms() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


class CallSigner:
    """Makes signed requests with the cluster's secret. Safe between threads."""

    def __init__(self, secret: str, clock: Callable[[], int] = now_ms) -> None:
        self._key, self._clock = secret.encode(), clock

    def sign(self, method: str, url: str, target: str = "", digest: str = NO_BODY) -> SentCall:
        """Sign a request to ``url``; ``target`` (path and query) where the url does not hold it. NotAuthenticated
        without a secret.
        """
        if not self._key:
            raise NotAuthenticated("This process has no secret of the cluster.", remedy=_NO_SECRET)
        if not target:
            parts = urlsplit(url)
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        nonce = os.urandom(16).hex()
        call = Call(method, address_of(url), target, self._clock(), nonce, digest)
        return SentCall(self._key, nonce, format_header(self._key, call))


class SentCall:
    """A request that was signed: ``header`` goes into ``Authorization``, and the answer is checked
    against its nonce.
    """

    __slots__ = ("_key", "_nonce", "header")

    def __init__(self, key: bytes, nonce: str, header: str) -> None:
        self._key, self._nonce, self.header = key, nonce, header

    def is_answered_by(self, signature: str | None, status: int, body: bytes) -> bool:
        """Does this answer come from a process with the secret, for this very request?"""
        return bool(signature) and is_same(
            signature or "", answer_signature(self._key, self._nonce, status, digest_of(body))
        )

    def is_sealed_by(self, seal: bytes, digest: bytes) -> bool:
        """The same for a body that was signed at its end, by its SHA-256."""
        return hmac.compare_digest(seal, seal_of(self._key, self._nonce, digest))


class ReceivedCall:
    """A request whose head was checked. Its body has to be held against ``check_body`` once it was read."""

    __slots__ = ("_digest", "_key", "_nonce")

    def __init__(self, key: bytes, nonce: str, digest: str) -> None:
        self._key, self._nonce, self._digest = key, nonce, digest

    def check_body(self, digest: str) -> None:
        """NotAuthenticated when this SHA-256 (hex) is not that of the body that was signed."""
        if not is_same(digest, self._digest):
            raise NotAuthenticated("The body is not the one that was signed.")

    def sign_answer(self, status: int, digest: str) -> str:
        """The value of ``ANSWER_HEADER`` for an answer whose body has this SHA-256 (hex)."""
        return answer_signature(self._key, self._nonce, status, digest)

    def sealed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The pieces of a body, and behind them their signature."""
        seen = hashlib.sha256()
        for piece in pieces:
            seen.update(piece)
            yield piece
        yield seal_of(self._key, self._nonce, seen.digest())


class CallVerifier:
    """Checks requests that are signed for ``address`` (``host:port``), each once. Without a secret none is right. Safe
    between threads.
    """

    def __init__(
        self,
        secret: str,
        address: str,
        clock: Callable[[], int] = now_ms,
        began_ms: int | None = None,
        uptime_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._key, self._address, self._clock, self._uptime_s = secret.encode(), address, clock, uptime_s
        # What the process before this one took is not remembered: nothing older than this one is taken, until that is
        # too old anyway. Not for longer, because the clock may be set back.
        self._began_ms = clock() if began_ms is None else began_ms
        self._is_new_until_s = uptime_s() + 2 * WINDOW_MS / 1000
        self._lock = threading.Lock()
        self._taken: dict[int, set[str]] = {}

    def verify(self, header: str, method: str, target: str) -> ReceivedCall:
        """The call that ``header`` (of ``Authorization``) proves; ``target`` as on the request line. NotAuthenticated,
        with the cause.
        """
        signed = parse_header(header)
        if signed is None:
            raise NotAuthenticated("The signature of the request is malformed.")
        right = call_signature(
            self._key, Call(method, signed.address, target, signed.time_ms, signed.nonce, signed.digest)
        )
        if not self._key or not is_same(signed.signature, right):
            raise NotAuthenticated(
                "The request is not signed with this cluster's secret.", remedy="Give all processes the same secret."
            )
        # From here on it comes from a process of ours, so the cause may be named.
        if signed.address != self._address:
            text = f"The request is signed for {signed.address}, and this is {self._address}."
            raise NotAuthenticated(text, remedy="Address each process by the host and port it was started with.")
        now = self._clock()
        if abs(signed.time_ms - now) > WINDOW_MS:
            text = (
                f"The request was signed {abs(signed.time_ms - now) // 1000} seconds "
                f"{'ago' if signed.time_ms < now else 'ahead'}."
            )
            raise NotAuthenticated(text, remedy="Set the machines' clocks.")
        if signed.time_ms < self._began_ms and self._uptime_s() < self._is_new_until_s:
            raise NotAuthenticated("The request was signed before this process began.", remedy="Send it again.")
        if not self._take(signed.time_ms, signed.nonce):
            raise NotAuthenticated("The request was sent before.", remedy="Sign each request.")
        return ReceivedCall(self._key, signed.nonce, signed.digest)

    def _take(self, time_ms: int, nonce: str) -> bool:
        """Remember the nonce for as long as its request could come again; False when it is known."""
        slot = time_ms // WINDOW_MS
        with self._lock:
            taken = self._taken.get(slot)
            if taken is None:
                oldest = self._clock() // WINDOW_MS - 2
                self._taken = {s: known for s, known in self._taken.items() if s >= oldest}
                taken = self._taken[slot] = set()
            if nonce in taken:
                return False
            taken.add(nonce)
            return True


def check_answer(call: SentCall, url: str, signature: str | None, status: int, body: bytes) -> None:
    """Unavailable when the answer does not come from a process of this cluster."""
    if not call.is_answered_by(signature, status, body):
        _seldom.warning(url, "%s answers %s without a signature of this cluster; the answer is not used.", url, status)
        raise Unavailable(
            f"{url} does not prove that it belongs to this cluster (it answers {status} without a right signature).",
            remedy="Give all processes the same secret, and check that no other program has taken the port.",
            is_dead=True,
        )
