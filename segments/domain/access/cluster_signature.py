"""How processes of one cluster prove to each other who they are: signed with the cluster's secret, which itself is
never sent.

A request carries ``Authorization: PinotAdmin-Signed ADDRESS TIME NONCE DIGEST SIGNATURE``: the host and port it is
meant for, when it was made (epoch milliseconds), a text that is used once, the SHA-256 of its body, and the HMAC-SHA256
of all of that with method and target (path and query as sent). So whoever receives it can use it for nothing else: not
at another address, not later, not for another path or body. The answer carries the HMAC of its status and body with the
request's nonce, so that nobody without the secret can answer in a server's place.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

SCHEME: Final = "PinotAdmin-Signed"
#: Header of a signed answer.
ANSWER_HEADER: Final = "X-PinotAdmin-Answer"
#: Header of an answer whose body is followed by its own signature (``SEAL_BYTES``), because it is made while it is
#: sent.
SEAL_HEADER: Final = "X-PinotAdmin-Sealed"
SEAL_BYTES: Final = 32
#: SHA-256 of no body.
NO_BODY: Final = hashlib.sha256(b"").hexdigest()
_PREFIX: Final = SCHEME.lower() + " "
_FIELDS: Final = 5
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Call:
    """What is signed of a request. ``target``: path and query as sent; ``digest``: SHA-256 of the body in hex."""

    method: str
    address: str
    target: str
    time_ms: int
    nonce: str
    digest: str


@dataclass(frozen=True, slots=True)
class SignedHeader:
    """What an ``Authorization`` header of a signed request says."""

    address: str
    time_ms: int
    nonce: str
    digest: str
    signature: str


def digest_of(body: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(body).hexdigest() if body else NO_BODY


def address_of(url: str) -> str:
    """``host:port`` of a URL, as it is connected to: in lower case, with the port also when it is the usual one."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return f"{f'[{host}]' if ':' in host else host}:{parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)}"


def is_signed(header: str) -> bool:
    """Does this ``Authorization`` header claim to come from a process of the cluster?"""
    return header[: len(_PREFIX)].lower() == _PREFIX


def format_header(key: bytes, call: Call) -> str:
    """The value of ``Authorization``."""
    return f"{SCHEME} {call.address} {call.time_ms} {call.nonce} {call.digest} {call_signature(key, call)}"


def parse_header(header: str) -> SignedHeader | None:
    """What the header says; None for one that is malformed."""
    fields = header[len(_PREFIX) :].split(" ")
    if (
        len(fields) != _FIELDS
        or not header.isascii()
        or not fields[1].isdecimal()
        or len(fields[1]) > len(str(1 << 63))
    ):
        return None
    return SignedHeader(fields[0], int(fields[1]), *fields[2:])


def call_signature(key: bytes, call: Call) -> str:
    """HMAC-SHA256 in hex."""
    text = f"call\n{call.method}\n{call.address}\n{call.target}\n{call.time_ms}\n{call.nonce}\n{call.digest}"
    return hmac.digest(key, text.encode(), "sha256").hex()


def answer_signature(key: bytes, nonce: str, status: int, digest: str) -> str:
    """Signature of the answer to the call with this nonce, in hex."""
    return hmac.digest(key, f"answer\n{nonce}\n{status}\n{digest}".encode(), "sha256").hex()


def seal_of(key: bytes, nonce: str, digest: bytes) -> bytes:
    """What follows a body of this SHA-256 that was made while it was sent."""
    return hmac.digest(key, b"seal\n" + nonce.encode() + b"\n" + digest, "sha256")


def is_same(given: str, right: str) -> bool:
    """Compare two signatures in constant time."""
    return hmac.compare_digest(given.encode(), right.encode())
