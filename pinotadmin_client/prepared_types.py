"""Types that msgspec reads answers into, made ready in one thread at a time.

The installation has the same for itself: this package comes without it, and it without this package.
"""

from __future__ import annotations

import threading
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")
_preparing: Final = threading.Lock()
_prepared: Final[set[Any]] = set()


def prepared(answer: type[T]) -> type[T]:
    """``answer``, for msgspec to read values of.

    msgspec gathers the fields of a type when it first reads one, and another thread that reads one meanwhile follows
    a null pointer, which ends the process. So they are gathered here, before.
    """
    if answer not in _prepared:
        with _preparing:
            msgspec.json.Decoder(answer)
            _prepared.add(answer)
    return answer
