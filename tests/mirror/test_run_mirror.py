"""The process of the mirror: nobody waits until it has read all tables."""

from __future__ import annotations

import threading

from segments.management.commands.run_mirror import is_turn
from segments.store.memory import MemoryStore
from segments.store.records.elected import Elected


def test_a_mirror_is_ready_as_soon_as_it_is_known_whose_turn_it_is() -> None:
    store, ready = MemoryStore(), list[str]()
    assert is_turn(Elected(store, "mirror", "1@a"), threading.Event(), lambda: ready.append("it follows"))
    assert ready == ["it follows"]


def test_a_mirror_that_waits_for_another_is_ready_too() -> None:
    stopped, ready = threading.Event(), list[str]()

    def note() -> None:
        ready.append("it waits")
        stopped.set()

    assert not is_turn(AnothersTurn(), stopped, note)
    assert ready == ["it waits"]


class AnothersTurn(Elected):
    """Another process has the role."""

    def __init__(self) -> None:
        super().__init__(MemoryStore(), "mirror", "1@a")

    def is_mine(self) -> bool:
        return False
