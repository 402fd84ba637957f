"""What can go wrong when a Pinot controller is asked: it refuses, or it cannot be used at all; never a stack trace."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from segments.errors import PinotAdminError, Unavailable

#: States of a controller; the same words as ``Cluster.State``. It cannot be used in those below the first two.
UNKNOWN: Final = "unknown"
UP: Final = "up"
DOWN: Final = "down"
REFUSED: Final = "refused"
UNTRUSTED: Final = "untrusted"
UNEXPECTED: Final = "unexpected"
WRONG_CLUSTER: Final = "wrong-cluster"


class PinotRefused(PinotAdminError):
    """Pinot answered, and the answer is no: ``pinot_status`` and ``pinot_message`` as it gave them.

    Pinot says 500 for most things that the caller did wrong, so use cases map it by message. Where none does, a 4xx
    stays what it is and a 5xx becomes 502: it is not a fault of ours.
    """

    def __init__(self, status: int, message: str, *, method: str = "GET", path: str = "", **data: Any) -> None:
        where = f"{method} {path}".strip()
        super().__init__(
            f"Pinot answered {status} to {where}: {message}",
            remedy="",
            pinotStatus=status,
            pinotMessage=message,
            **data,
        )
        self.pinot_status, self.pinot_message = status, message
        self.method, self.path = method, path
        self.status = status if status < HTTPStatus.INTERNAL_SERVER_ERROR else HTTPStatus.BAD_GATEWAY


class ControllerFault(Unavailable):
    """The controller cannot be used now; nothing was changed. ``state`` is one of the words of this module."""

    def __init__(self, state: str, message: str, *, remedy: str = "", **data: Any) -> None:
        super().__init__(message, remedy=remedy, state=state, **data)
        self.state = state
