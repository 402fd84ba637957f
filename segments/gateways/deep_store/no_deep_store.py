"""An installation without any deep store (``DEEP_STORE_URL=none``): nothing is ever there, and nothing can be put
there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn

from segments.errors import NotFound, StateConflict
from segments.gateways.deep_store.access import StoreAccess
from segments.gateways.deep_store.bounded_files import CALL_S, BoundedStream
from segments.gateways.deep_store.deepstore import DeepStore, StoredFile

#: What stands in the place of an address.
NONE: Final = "none"
REMEDY: Final = "Start the installation with a deep store (DEEP_STORE_URL, or up --deep-store)."


def open_deep_store(url: str, timeout_s: float = CALL_S, access: StoreAccess | None = None) -> DeepStore:
    """The deep store of this address; ``none``: there is none. InvalidInput for one that cannot be opened."""
    return NoDeepStore() if is_none(url) else DeepStore(url, timeout_s, access)


def is_none(url: str) -> bool:
    """Does the address say that there is no deep store?"""
    return url.strip().lower() == NONE


class NoDeepStore(DeepStore):
    """Behaves like an empty deep store; writing raises StateConflict."""

    exists = False

    def __init__(self) -> None:
        self.url, self.access = f"{NONE}:", StoreAccess()

    def below(self, folder: str) -> DeepStore:
        """There is none below either."""
        return self

    @property
    def local_root(self) -> Path | None:
        """No folder."""
        return None

    def path_of(self, uri: str) -> str | None:
        """No address is one of ours."""
        return None

    def put(self, source: Path, path: str) -> int:
        """Raises StateConflict."""
        _refuse()

    def write(self, path: str, data: bytes) -> None:
        """Raises StateConflict."""
        _refuse()

    def fetch(self, path: str, target: Path) -> int:
        """Raises NotFound."""
        raise _not_found(path)

    def open(self, path: str) -> BoundedStream:
        """Raises NotFound."""
        raise _not_found(path)

    def read(self, path: str) -> bytes | None:
        """Nothing."""
        return None

    def size(self, path: str) -> int | None:
        """No file."""
        return None

    def move(self, source: str, target: str) -> bool:
        """There is no source."""
        return False

    def copy(self, source: str, target: str) -> bool:
        """There is no source."""
        return False

    def touch(self, path: str, at_ms: int) -> None:
        """Nothing to touch."""

    def delete(self, path: str) -> bool:
        """There is no file."""
        return False

    def delete_folder(self, path: str) -> None:
        """There is no folder."""

    def files(self, path: str) -> Iterator[StoredFile]:
        """None."""
        return iter(())

    def folders(self, path: str) -> list[str]:
        """None."""
        return []


def _refuse() -> NoReturn:
    raise StateConflict("This installation has no deep store: files of segments cannot be kept.", remedy=REMEDY)


def _not_found(path: str) -> NotFound:
    return NotFound(
        f"This installation has no deep store, so there is no file '{path}'; servers alone have its segments."
    )
