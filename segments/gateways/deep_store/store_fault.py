"""What went wrong in the deep store, in one form for all kinds of stores: which store, which path, what to do."""

from __future__ import annotations

import errno
import re
from typing import Final

from segments.errors import Unavailable

#: How stores of all kinds say, in the texts of their libraries, that they refuse a login.
DENIED: Final = re.compile(
    r"ACCESS_DENIED|FORBIDDEN|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|INVALID_SIGNATURE|EXPIRED_TOKEN|INVALID_TOKEN"
    r"|UNRECOGNIZED_CLIENT|MISSING_AUTHENTICATION|HTTP status 40[13]\b|\b40[13] |AuthorizationFailure|Permission denied"
    r"|AuthenticationFailed|credential",
    re.IGNORECASE,
)
#: What differs from request to request and says nothing.
IDENTIFIERS: Final = re.compile(r" ?\(Request ID:[^()]{0,300}\)")
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_LONGEST: Final = 400


class StoreFault(Unavailable):
    """The deep store did not do what was asked for. ``data`` has ``store`` (its address, without login) and ``path``
    below it.
    """


def store_fault(store: str, doing: str, path: str, error: Exception) -> StoreFault:
    """As an error. ``doing`` follows "could not": a verb."""
    text = IDENTIFIERS.sub("", " ".join(str(error).split()))[:_LONGEST].rstrip(".")
    return StoreFault(
        f"The deep store {store} could not {doing} '{path}': {text}.",
        remedy=_remedy(error, text),
        store=store,
        path=path,
    )


def _remedy(error: Exception, text: str) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number in _FULL or "No space left" in text:
        return "Make room there; this is tried again."
    if isinstance(error, PermissionError) or number in (errno.EACCES, errno.EPERM, errno.EROFS) or DENIED.search(text):
        return "Check the login of the deep store and its rights there; this is tried again."
    return "Check that it is up, and that this machine reaches it; this is tried again."
