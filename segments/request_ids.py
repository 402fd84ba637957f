"""Which request something was done for: one id for all that a person did with one click or call. It travels to the
servers that answer a query and with the tasks that workers do, and stands in audit records, log lines and answers.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Final

#: The header of answers, and of what processes of the cluster send one another.
HEADER: Final = "X-Request-Id"
_ID: Final = re.compile(r"[0-9a-f]{32}")
_current: ContextVar[str] = ContextVar("request_id", default="")


@contextmanager
def request_of(given: str | None) -> Iterator[str]:
    """Meanwhile what is done is done for the request of this id; for a new one when ``given`` is no id of ours."""
    token = _current.set(given if given and _ID.fullmatch(given) else uuid.uuid4().hex)
    try:
        yield _current.get()
    finally:
        _current.reset(token)


def request_of_its_own() -> AbstractContextManager[str]:
    """Meanwhile changes are recorded with a new id, which is given."""
    return request_of(None)


def request_at_work() -> AbstractContextManager[str]:
    """Meanwhile what is done is done for the request that is being answered, for a new one where there is none."""
    return request_of(_current.get())


def begin_new() -> None:
    """From now on, until somebody begins something else in this context: for a new request."""
    _current.set(uuid.uuid4().hex)


def begin_for(given: str | None) -> None:
    """From now on, until somebody begins something else in this thread: for the request of this id, or for none."""
    _current.set(given if given and _ID.fullmatch(given) else "")


def current_request() -> str:
    """The id of the request that is being answered; empty outside of requests, as in passes."""
    return _current.get()


def own_request_id() -> str:
    """The same; a new one for a request that is answered before anything is done for it."""
    return _current.get() or uuid.uuid4().hex
