"""Asks a part whether it is ready: ZooKeeper, Redis, HTTP, or a file that it touches."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from segments.errors import PinotAdminError
from segments.gateways.rate_limited_log import RateLimitedLog
from segments.gateways.tls.trust import Trust

log = logging.getLogger(__name__)
_seldom = RateLimitedLog(log)

Probe = Callable[[], Awaitable[bool]]
#: Seconds for one question and its answer.
PROBE_TIMEOUT_S = 5.0


async def _ask(host: str, port: int, question: bytes, trust: Trust | None = None, limit: int = 65_536) -> bytes:
    """Send ``question`` (over TLS with a ``trust``), read until the peer closes or ``limit`` bytes;
    empty when it does not answer.
    """
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(host, port, ssl=trust.context if trust else None)
            try:
                writer.write(question)
                await writer.drain()
                answer = b""
                while len(answer) < limit and (data := await reader.read(limit)):
                    answer += data
                return answer
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        if trust is not None and isinstance(error, ssl.SSLError):
            _seldom.warning(f"{host}:{port}", "%s:%s is not asked: %s", host, port, trust.why(error))
        return b""


def zookeeper_probe(port: int, host: str = "127.0.0.1") -> Probe:
    """Ready when ``ruok`` is answered by ``imok``."""

    async def probe() -> bool:
        return await _ask(host, port, b"ruok") == b"imok"

    return probe


def closing_probe(probe: Probe, close: Callable[[], None]) -> Probe:
    """As ``probe``, but ready only when ``close`` has been done since the part was last down: nobody else is let in
    before.
    """
    is_closed = False

    async def closed() -> bool:
        nonlocal is_closed
        answers = await probe()
        if answers and not is_closed:
            try:
                await asyncio.to_thread(close)
            except PinotAdminError as error:
                log.warning("%s", error)
                return False
        is_closed = answers
        return answers

    return closed


def redis_probe(port: int, password: str, host: str = "127.0.0.1") -> Probe:
    """Ready when PING is answered by PONG (it says LOADING while it reads its files)."""
    secret = password.encode()
    question = b"*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n" % (len(secret), secret)

    async def probe() -> bool:
        return b"+PONG" in await _ask(host, port, question)

    return probe


def http_probe(host: str, port: int, path: str, *, any_status: bool = False, trust: Trust | None = None) -> Probe:
    """Ready when GET ``path`` answers 200; with ``any_status`` when it answers in HTTP at all. ``trust``: over TLS,
    from one that is believed.
    """
    question = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: */*\r\nConnection: close\r\n\r\n".encode("ascii")

    async def probe() -> bool:
        status_line = (await _ask(host, port, question, trust)).partition(b"\r\n")[0].split()
        return len(status_line) >= 2 and (any_status or status_line[1] == b"200")

    return probe


def beat_probe(path: Path, oldest_s: float = 10.0, clock: Callable[[], float] = time.monotonic) -> Probe:
    """Alive as long as the file is touched (see ``sign_of_life``) every ``oldest_s`` seconds; the wall clock may jump
    meanwhile.
    """
    seen, since = -1, clock()

    async def probe() -> bool:
        nonlocal seen, since
        try:
            touched = path.stat().st_mtime_ns
        except OSError:
            return False
        if touched != seen:
            seen, since = touched, clock()
        return clock() - since < oldest_s

    return probe
