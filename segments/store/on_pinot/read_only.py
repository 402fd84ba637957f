"""A store that is only read: what every write to a Pinot cluster's own state meets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Forbidden
from segments.store.base import Versioned, Write


class ReadOnly:
    """The writing half of ``Store``, all of it refused. A real Pinot owns its state: it is changed through its
    controller.
    """

    def create(self, path: str, record: ZNRecord | None, *, ephemeral: bool = False) -> Versioned:
        """Refused."""
        self._refuse(path)

    def replace(self, path: str, record: ZNRecord, version: int) -> Versioned:
        """Refused."""
        self._refuse(path)

    def delete(self, path: str, version: int | None = None) -> bool:
        """Refused."""
        self._refuse(path)

    def delete_tree(self, path: str) -> None:
        """Refused."""
        self._refuse(path)

    def transaction(self, writes: Sequence[Write]) -> None:
        """Refused, unless there is nothing in it."""
        if writes:
            self._refuse(writes[0].path)

    def session_id(self) -> str:
        """There is none that owns anything."""
        self._refuse("/")

    def on_session(self, callback: Callable[[], None]) -> None:
        """Nothing is owned, so nothing is lost with a session."""

    def _refuse(self, path: str) -> NoReturn:
        raise Forbidden(
            f"{path} belongs to Pinot and is only read here.", remedy="Change it through Pinot's controller.", path=path
        )
