"""Where a server reaches the web processes: addresses it was given, or whatever knows better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class WebAddresses(Protocol):
    """Any web process will do (rule `any-process-answers`); the most promising comes first."""

    def urls(self) -> Sequence[str]:
        """Base addresses without a slash at the end, each once."""

    def answered(self, url: str) -> None:
        """It did."""

    def failed(self, url: str) -> None:
        """It did not."""


class GivenAddresses:
    """Always the same ones; who answered last is asked first."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = [url.rstrip("/") for url in urls if url]

    def urls(self) -> Sequence[str]:
        """All of them."""
        return tuple(self._urls)

    def answered(self, url: str) -> None:
        """It goes on being asked first."""
        self._urls = [url, *(other for other in self._urls if other != url)]

    def failed(self, url: str) -> None:
        """The next one is asked anyway."""


def as_addresses(given: Sequence[str] | WebAddresses) -> WebAddresses:
    """A list as addresses; others as they are."""
    return GivenAddresses(given) if isinstance(given, Sequence) else given
