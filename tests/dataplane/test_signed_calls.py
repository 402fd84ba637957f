"""Signed requests: what is accepted once is accepted nowhere else, not again, not later, and only with the body that
was signed.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from segments.domain.access.cluster_signature import (
    Call,
    answer_signature,
    call_signature,
    digest_of,
    format_header,
    parse_header,
)
from segments.errors import NotAuthenticated, Unavailable
from segments.gateways.rate_limited_log import RateLimitedLog
from segments.gateways.signed_calls import WINDOW_MS, CallSigner, CallVerifier, check_answer

SECRET = "the secret of a cluster"
HERE = "127.0.0.1:8097"
URL = f"http://{HERE}"


class Clock:
    """Epoch milliseconds, set by hand."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def signed(clock: Clock, method: str = "POST", url: str = URL, target: str = "/query?a=1", body: bytes = b"{}") -> str:
    return CallSigner(SECRET, clock).sign(method, url, target, digest_of(body)).header


@pytest.fixture
def verifier(clock: Clock) -> CallVerifier:
    return CallVerifier(SECRET, HERE, clock)


def test_a_signed_request_is_taken_with_the_body_that_was_signed_and_no_other(
    clock: Clock, verifier: CallVerifier
) -> None:
    call = verifier.verify(signed(clock), "POST", "/query?a=1")
    call.check_body(digest_of(b"{}"))
    with pytest.raises(NotAuthenticated, match="body"):
        call.check_body(digest_of(b"{ }"))


@pytest.mark.parametrize(
    ("method", "target"), [("GET", "/query?a=1"), ("POST", "/query"), ("POST", "/query?a=2"), ("POST", "/tables")]
)
def test_it_is_worth_nothing_for_another_method_or_path(
    clock: Clock, verifier: CallVerifier, method: str, target: str
) -> None:
    with pytest.raises(NotAuthenticated, match="not signed with this cluster's secret"):
        verifier.verify(signed(clock), method, target)


def test_it_is_worth_nothing_at_another_address(clock: Clock, verifier: CallVerifier) -> None:
    with pytest.raises(NotAuthenticated, match=r"signed for 127\.0\.0\.1:6666, and this is 127\.0\.0\.1:8097"):
        verifier.verify(signed(clock, url="http://127.0.0.1:6666"), "POST", "/query?a=1")
    forged = signed(clock, url="http://127.0.0.1:6666").replace("127.0.0.1:6666", HERE)
    with pytest.raises(NotAuthenticated, match="not signed with"):
        verifier.verify(forged, "POST", "/query?a=1")


def test_it_is_taken_once_for_as_long_as_it_would_be_taken_at_all(clock: Clock, verifier: CallVerifier) -> None:
    header, began = signed(clock), clock.now
    verifier.verify(header, "POST", "/query?a=1")
    for later in (0, 1, WINDOW_MS // 2, WINDOW_MS):
        clock.now = began + later
        for _ in range(3):  # others come in between, and old ones are forgotten
            verifier.verify(signed(clock), "POST", "/query?a=1")
        with pytest.raises(NotAuthenticated, match="was sent before"):
            verifier.verify(header, "POST", "/query?a=1")
    clock.now = began + WINDOW_MS + 1
    with pytest.raises(NotAuthenticated, match="60 seconds ago"):
        verifier.verify(header, "POST", "/query?a=1")


def test_what_is_remembered_does_not_grow_with_time(clock: Clock, verifier: CallVerifier) -> None:
    for _ in range(100):
        clock.now += WINDOW_MS
        verifier.verify(signed(clock), "POST", "/query?a=1")
    assert sum(map(len, verifier._taken.values())) <= 4


def test_clocks_may_differ_by_the_window_in_both_directions(clock: Clock) -> None:
    other = Clock()
    verifier = CallVerifier(SECRET, HERE, clock, began_ms=0)
    for off in (-WINDOW_MS, WINDOW_MS):
        other.now = clock.now + off
        verifier.verify(signed(other), "POST", "/query?a=1")
    other.now = clock.now + WINDOW_MS + 1
    with pytest.raises(NotAuthenticated, match="60 seconds ahead"):
        verifier.verify(signed(other), "POST", "/query?a=1")


def test_a_process_that_has_just_begun_takes_nothing_that_the_one_before_may_have_taken(clock: Clock) -> None:
    header = signed(clock)
    clock.now += 5
    with pytest.raises(NotAuthenticated, match="before this process began"):
        CallVerifier(SECRET, HERE, clock).verify(header, "POST", "/query?a=1")


def test_a_clock_that_is_set_back_later_stops_nothing(clock: Clock) -> None:
    uptime = [0.0]
    verifier = CallVerifier(SECRET, HERE, clock, uptime_s=lambda: uptime[0])
    clock.now -= 3_600_000
    with pytest.raises(NotAuthenticated, match="before this process began"):
        verifier.verify(signed(clock), "POST", "/query?a=1")
    uptime[0] = 2 * WINDOW_MS / 1000
    verifier.verify(signed(clock), "POST", "/query?a=1")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "PinotAdmin-Signed",
        "PinotAdmin-Signed ",
        "PinotAdmin-Signed a b c d e",
        "PinotAdmin-Signed a 1 c d",
        "Bearer x",
        "PinotAdmin-Signed a 1 c d e f",
        f"PinotAdmin-Signed a {'9' * 5000} c d e",
        "PinotAdmin-Signed a ² c d e",
        "PinotAdmin-Signed a 1 ü d e",
    ],
)
def test_a_malformed_header_is_refused(verifier: CallVerifier, header: str) -> None:
    with pytest.raises(NotAuthenticated):
        verifier.verify(header, "GET", "/")


def test_without_a_secret_nothing_is_signed_and_nothing_is_right(clock: Clock) -> None:
    with pytest.raises(NotAuthenticated, match="no secret"):
        CallSigner("").sign("GET", URL, "/")
    call = Call("GET", HERE, "/", clock.now, "nonce", digest_of(b""))
    with pytest.raises(NotAuthenticated):
        CallVerifier("", HERE, clock).verify(format_header(b"", call), "GET", "/")


def test_each_part_of_a_request_is_signed(clock: Clock) -> None:
    call = Call("GET", HERE, "/", clock.now, "nonce", digest_of(b""))
    others = [
        replace(call, method="PUT"), replace(call, address="h:1"), replace(call, target="/a"), replace(call, time_ms=1),
        replace(call, nonce="n"), replace(call, digest="d"),
    ]  # fmt: skip
    assert len({call_signature(b"k", c) for c in (call, *others)}) == 1 + len(others)
    said = parse_header(format_header(b"k", call))
    assert said is not None
    assert (said.address, said.time_ms, said.nonce, said.digest) == (
        call.address,
        call.time_ms,
        call.nonce,
        call.digest,
    )


def test_an_answer_counts_for_its_own_request_status_and_body_only(clock: Clock, verifier: CallVerifier) -> None:
    sent = CallSigner(SECRET, clock).sign("GET", URL, "/")
    other = CallSigner(SECRET, clock).sign("GET", URL, "/")
    right = verifier.verify(sent.header, "GET", "/").sign_answer(200, digest_of(b"rows"))
    check_answer(sent, URL, right, 200, b"rows")
    for call, signature, status, body in (
        (other, right, 200, b"rows"),
        (sent, right, 404, b"rows"),
        (sent, right, 200, b"other"),
        (sent, None, 200, b"rows"),
        (sent, "", 200, b"rows"),
        (sent, answer_signature(b"another secret", "", 200, digest_of(b"rows")), 200, b"rows"),
    ):
        with pytest.raises(Unavailable, match="does not prove"):
            check_answer(call, URL, signature, status, body)


def test_an_answer_that_is_not_ours_is_logged_but_not_every_time(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    sent = CallSigner(SECRET, clock).sign("GET", "http://fake:1", "/")
    for _ in range(5):
        with pytest.raises(Unavailable):
            check_answer(sent, "http://fake:1", None, 200, b"")
    assert [r.getMessage() for r in caplog.records] == [
        "http://fake:1 answers 200 without a signature of this cluster; the answer is not used."
    ]


def test_a_warning_comes_again_after_a_while(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    seldom = RateLimitedLog(logging.getLogger("test"), lambda: now[0])
    for at in (0, 1, 9.9, 10, 11, 25):
        now[0] = at
        seldom.warning("one", "at %s", at)
    seldom.warning("two", "another")
    assert [r.getMessage() for r in caplog.records] == ["at 0", "at 10", "at 25", "another"]
    for number in range(3000):
        seldom.warning(str(number), "many")
    assert len(seldom._next) <= 1000


def test_a_stream_ends_with_its_signature(clock: Clock, verifier: CallVerifier) -> None:
    import hashlib

    sent = CallSigner(SECRET, clock).sign("GET", URL, "/")
    *pieces, seal = verifier.verify(sent.header, "GET", "/").sealed([b"one", b"two"])
    assert pieces == [b"one", b"two"]
    assert sent.is_sealed_by(seal, hashlib.sha256(b"onetwo").digest())
    assert not sent.is_sealed_by(seal, hashlib.sha256(b"onetw").digest())
