"""Whether an installation is reached from other machines decides whether a user's text may name this machine's own
addresses.
"""

from __future__ import annotations

from typing import Any

import pytest

from segments import wiring


@pytest.mark.parametrize(
    ("bind", "names", "private"),
    [
        ("127.0.0.1", ["127.0.0.1", "localhost", "[::1]"], True),
        ("::1", ["localhost"], True),
        ("0.0.0.0", ["127.0.0.1", "localhost"], False),
        ("::", ["localhost"], False),
        ("10.0.0.7", ["localhost"], False),
        ("127.0.0.1", ["localhost", "pinot.example"], False),  # a proxy on this machine
        ("127.0.0.1", ["*"], False),
    ],
)
def test_an_installation_that_others_reach_calls_nothing_on_its_own_machine(
    settings: Any, bind: str, names: list[str], private: bool
) -> None:
    settings.BIND_HOST, settings.ALLOWED_HOSTS = bind, names
    settings.HOST = "127.0.0.1"  # how its own processes reach it, whatever it listens at
    assert wiring.serves_this_machine_only() is private
    assert wiring._limits().fetch_from_loopback is private
    access = wiring.stream_access()
    assert {access.kafka.loopback, access.redis.loopback, access.registries.loopback} == {private}
