"""A workers' queue that keeps what it is given, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from segments.errors import Unavailable

_NONE: Mapping[str, str] = {}


@dataclass
class FakeQueue:
    """``sent`` are the tasks by name with their arguments, ``hints`` those of the same tasks; ``work`` is done with the
    first argument of each.
    """

    sent: list[tuple[str, list[str | None]]] = field(default_factory=list)
    hints: list[Mapping[str, str]] = field(default_factory=list)
    work: Callable[[str], object] = lambda _: None
    cluster: str | None = None
    is_down: bool = False

    def send(self, task: str, *arguments: str | None, hints: Mapping[str, str] = _NONE, **_: object) -> None:
        if self.is_down:
            raise Unavailable("The task queue cannot be reached.")
        self.sent.append((task, list(arguments)))
        self.hints.append(hints)
        self.work(str(arguments[0]))
