"""Which events a receiver wants, how they are signed, and when they are sent again."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from segments.domain.alerts.rules import Wish, check_wish, next_try_s, sign
from segments.errors import InvalidInput


@pytest.mark.parametrize(
    ("wish", "event", "wanted"),
    [
        (Wish(), ("own", "t_OFFLINE", "warning"), True),
        (Wish(), ("own", "", "error"), True),
        (Wish(severity="error"), ("own", "t_OFFLINE", "warning"), False),
        (Wish(severity="error"), ("own", "t_OFFLINE", "error"), True),
        (Wish("sales_*"), ("own", "sales_eu_REALTIME", "error"), True),
        (Wish("sales"), ("own", "sales_OFFLINE", "error"), True),
        (Wish("sales_OFFLINE"), ("own", "sales_REALTIME", "error"), False),
        (Wish("sales_*"), ("own", "", "error"), False),
        (Wish(cluster="prod"), ("own", "t_OFFLINE", "error"), False),
    ],
)
def test_a_receiver_hears_of_what_it_wants_only(wish: Wish, event: tuple[str, str, str], wanted: bool) -> None:
    assert wish.wants(*event) == wanted


@pytest.mark.parametrize(
    "given", [("", "*", "error"), ("*", "x" * 300, "error"), ("*", "*", "fatal"), ("a\n", "*", "error")]
)
def test_a_wish_that_cannot_be_is_refused(given: tuple[str, str, str]) -> None:
    with pytest.raises(InvalidInput):
        check_wish(*given)


def test_the_signature_covers_time_and_body() -> None:
    expected = hmac.new(b"secret", b'17.{"a":1}', hashlib.sha256).hexdigest()
    assert sign("secret", b'{"a":1}', 17) == f"t=17,v1={expected}"
    assert sign("secret", b'{"a":1}', 18) != sign("secret", b'{"a":1}', 17)


def test_pauses_grow_and_after_a_day_a_message_is_given_up() -> None:
    pauses = [next_try_s(failures, 0) for failures in range(1, 9)]
    assert pauses == [10, 30, 120, 600, 1800, 3600, 3600, 3600]
    assert next_try_s(20, 86_400) is None
