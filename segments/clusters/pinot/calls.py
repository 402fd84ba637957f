"""Asking a real Pinot: its refusals become our errors, and a change whose answer is in doubt is verified before it is
sent again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote

from segments.clusters.pinot.connected_engine import controller
from segments.domain.pinot import capabilities
from segments.domain.pinot.capabilities import PinotVersion, parse_version
from segments.domain.pinot.refusals import refusal
from segments.errors import OutcomeUnknown, PinotAdminError, StateConflict, Unavailable
from segments.gateways.pinot import ControllerFault, PinotController, PinotRefused
from segments.gateways.pinot.refusals import UNEXPECTED
from segments.services.core.context import Context

__all__ = [
    "ATTEMPTS",
    "Answering",
    "Doubt",
    "controller",
    "lacks",
    "odd_answer",
    "quoted",
    "read_object",
    "refusals_translated",
    "require",
    "settled",
    "version",
]

T = TypeVar("T")

#: A change is sent at most so often; before every further time Pinot's state was read and did not have it.
ATTEMPTS: Final = 4
#: Seconds between a doubtful answer and the check, growing with every attempt; and how long a check is tried.
_PAUSE_S: Final = 0.25
_CHECK_S: Final = 20.0
_CHECK_AGAIN_S: Final = 0.5
#: Seconds between two questions whether a controller is there, and without an answer until waiting for it ends.
_ASK_S: Final = 3.0
_GIVE_UP_S: Final = 20.0


def quoted(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="")


@contextmanager
def refusals_translated(*, is_change: bool = True) -> Iterator[None]:
    """What Pinot refuses inside is raised as our error, with its cause."""
    try:
        yield
    except PinotRefused as error:
        raise refusal(error.pinot_status, error.pinot_message, is_change=is_change) from error


def read_object(ctx: Context, path: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The JSON object of an answer, empty for an empty one. ControllerFault (unexpected) for any other JSON; refusals
    as our errors.
    """
    with refusals_translated(is_change=False):
        found = controller(ctx).get(path, params)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise odd_answer(path, f"JSON of another kind ({type(found).__name__})")
    return found


def odd_answer(path: str, what: str) -> ControllerFault:
    """To raise for an answer that no Pinot gives: what it says is not known, so nothing is decided by it."""
    remedy = "Check that the address is that of a Pinot controller, and its version."
    return ControllerFault(
        UNEXPECTED, f"The controller answered {path} with {what}, which no known Pinot does.", remedy=remedy
    )


def version(ctx: Context) -> PinotVersion | None:
    """The cluster's version; None when it reports none, or cannot be asked now."""
    try:
        return parse_version(controller(ctx).version())
    except (PinotAdminError, PinotRefused):
        return None


def lacks(ctx: Context, name: str) -> bool:
    """Is the cluster's version known to lack this capability?"""
    return bool(capabilities.lacking(version(ctx), name))


def require(ctx: Context, name: str) -> None:
    """StateConflict with the reason when the cluster's version lacks this capability."""
    why = capabilities.lacking(version(ctx), name)
    if why:
        raise StateConflict(why, remedy="", capability=name)


class Answering:
    """Asks now and then whether the controller is there while something waits for what only it can bring about
    (segments online).
    """

    def __init__(self, pinot: PinotController, clock: Callable[[], float] = time.monotonic) -> None:
        self._pinot, self._clock = pinot, clock
        self._answered = self._asked = clock()

    def require(self) -> None:
        """Raise Unavailable when it has not answered for a while; a restart is waited for."""
        if self._clock() - self._asked < _ASK_S:
            return
        try:
            self._pinot.text("/health")
            self._answered = self._clock()
        except PinotRefused:
            self._answered = self._clock()  # it says something, at least
        except Unavailable:
            if self._clock() - self._answered > _GIVE_UP_S:
                raise
        self._asked = self._clock()


@dataclass(frozen=True)
class Doubt:
    """A change whose outcome the answer did not report: ``error`` is what came instead of one."""

    error: PinotAdminError
    attempt: int


def settled(
    send: Callable[[], T], check: Callable[[Doubt], T | None], *, sleep: Callable[[float], None] = time.sleep
) -> T:
    """``send``, once; when its outcome is in doubt ``check`` returns the result if the change arrived, else None.

    Only a change that is verified not to be there is sent again. ``check`` may raise: then the reason it finds ends
    the matter. When nothing can be read any more the doubt itself is raised (OutcomeUnknown): whoever comes back
    has to check first. What Pinot refuses for a known reason is raised at once on the first attempt; later it may be
    the echo of an attempt that did arrive, so it is checked.
    """
    doubted: PinotAdminError | None = None
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with refusals_translated():
                return send()
        except OutcomeUnknown as error:
            doubted = error
        except Unavailable as error:
            if doubted is None:
                raise  # it was never sent, and nothing before it is in doubt
            doubted = OutcomeUnknown(str(error), remedy="Check the table before trying again.")
        except PinotAdminError as error:
            if attempt == 1:
                raise
            found = check(Doubt(error, attempt))
            if found is not None:
                return found
            raise
        sleep(_PAUSE_S * attempt)
        found = _checked(check, Doubt(doubted, attempt), sleep)
        if found is not None:
            return found
    assert doubted is not None
    raise OutcomeUnknown(
        f"{doubted.message} It was not found after each of {ATTEMPTS} attempts.",
        remedy="Read the controller's log, then try again.", **doubted.data,
    )  # fmt: skip


def _checked(check: Callable[[Doubt], T | None], doubt: Doubt, sleep: Callable[[float], None]) -> T | None:
    """The check, tried for a while; OutcomeUnknown when Pinot cannot be read."""
    deadline = time.monotonic() + _CHECK_S
    while True:
        try:
            return check(doubt)
        except (Unavailable, OutcomeUnknown) as error:
            if time.monotonic() > deadline:
                text = f"{doubt.error.message} It could not be checked: {error.message}"
                raise OutcomeUnknown(text, remedy="Check the table before trying again.", **doubt.error.data) from error
            sleep(_CHECK_AGAIN_S)
