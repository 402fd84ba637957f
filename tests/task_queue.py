"""A workers' queue that keeps what it is given, for tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from segments.errors import Unavailable


@dataclass
class FakeQueue:
    """``sent`` are the tasks by name with their arguments; ``work`` is done with the first argument of each."""

    sent: list[tuple[str, list[str | None]]] = field(default_factory=list)
    work: Callable[[str], object] = lambda _: None
    cluster: str | None = None
    is_down: bool = False

    def send(self, task: str, *arguments: str | None, **_: object) -> None:
        if self.is_down:
            raise Unavailable("The task queue cannot be reached.")
        self.sent.append((task, list(arguments)))
        self.work(str(arguments[0]))
