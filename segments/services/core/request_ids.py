"""Which request a change was made for: one id for all that a person did with one click or call."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[str] = ContextVar("request_id", default="")


@contextmanager
def request_of_its_own() -> Iterator[str]:
    """Meanwhile changes are recorded with a new id, which is given."""
    token = _current.set(uuid.uuid4().hex)
    try:
        yield _current.get()
    finally:
        _current.reset(token)


def current_request() -> str:
    """The id of the request that is being answered; empty outside of requests, as in passes."""
    return _current.get()


def own_request_id() -> str:
    """The same; a new one for a request that is answered before anything is done for it."""
    return _current.get() or uuid.uuid4().hex
