"""Why a Pinot controller refused, as one of our errors with cause and remedy: it answers 500 to most of what a caller
did wrong (rule `refusals-are-4xx`).

The rules go by the message (``refusal_rules``), because the status says little. What no rule knows keeps Pinot's words;
of a change it is then not known whether it was made (``OutcomeUnknown``), so the caller reads before anything else.
"""

from __future__ import annotations

import re
from typing import Any, Final

from segments.domain.pinot.refusal_rules import RULES, Rule
from segments.errors import (
    Forbidden,
    Gone,
    InvalidInput,
    NotFound,
    OutcomeUnknown,
    PinotAdminError,
    PreconditionFailed,
    StateConflict,
    Unavailable,
)

_LONGEST: Final = 600
_ENTRY: Final = re.compile(r"(?:entry id|segmentLineageEntryId)\s*[:=]\s*'?([0-9a-f]{8}-[0-9a-f-]{27})", re.IGNORECASE)
_OPAQUE: Final = re.compile(r"Failed to update the segment lineage (?:during|for)", re.IGNORECASE)
_SERVER_ERROR: Final = 500

_BY_STATUS: Final[dict[int, tuple[type[PinotAdminError], str]]] = {
    400: (InvalidInput, "Correct the request."),
    401: (Forbidden, "The cluster refuses our credentials: correct them in the cluster's settings."),
    403: (Forbidden, "A rule of the cluster forbids it, or the user that this installation uses there may not do it."),
    404: (NotFound, "Check the name; an old version may lack this operation."),
    405: (NotFound, "This version of Pinot lacks the operation."),
    409: (StateConflict, "Read its state first."),
    410: (Gone, ""),
    412: (PreconditionFailed, ""),
    413: (InvalidInput, "Send less at once."),
    415: (InvalidInput, "This version of Pinot takes it in another form."),
}


def refusal(status: int, text: str, *, is_change: bool = True) -> PinotAdminError:
    """The error that a caller gets for an answer ``status`` with this text (``pinotStatus`` and ``pinotMessage`` of the
    error keep both).

    A server error that no rule knows is OutcomeUnknown for a change and Unavailable for a read.
    """
    text = " ".join(text.split())
    data: dict[str, Any] = {"pinotStatus": status, "pinotMessage": text[:_LONGEST]}
    if found := _ENTRY.search(text):
        data["entry"] = found.group(1)
    rule = rule_of(status, text)
    if rule is not None:
        return rule.kind(_in_words(text), remedy=rule.remedy, reason=rule.name, **data)
    if status in _BY_STATUS:
        kind, remedy = _BY_STATUS[status]
        return kind(_in_words(text, status), remedy=remedy, **data)
    if status < _SERVER_ERROR:
        return InvalidInput(_in_words(text, status), remedy="Correct the request.", **data)
    if is_change:
        return OutcomeUnknown(
            _in_words(text, status), remedy="Check whether it was done; the controller's log has the cause.", **data
        )
    return Unavailable(_in_words(text, status), remedy="Try again; the controller's log has the cause.", **data)


def rule_of(status: int, text: str) -> Rule | None:
    """The rule that knows this answer; None: there is none, or Pinot hid its cause."""
    return None if is_opaque(text) else next((r for r in RULES if r.fits(status, text)), None)


def is_opaque(text: str) -> bool:
    """Is this the answer with which Pinot wraps every cause of a refused start, end or revert?"""
    return _OPAQUE.search(text) is not None and "Caused by" not in text


def _in_words(text: str, status: int | None = None) -> str:
    shown = text[:_LONGEST].rstrip(".! ") or "no reason given"
    return f"Pinot answered {status}: {shown}." if status is not None else f"Pinot refused: {shown}."
