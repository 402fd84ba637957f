"""Which text of a document somebody read, so that nobody's change is overwritten unseen."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

from segments.domain.tables.secret_masks import mask
from segments.errors import StateConflict


def version_of(body: Any) -> str:
    """The version of a document, however its keys are sorted. Secrets do not count: nobody can try them out on it, and
    one that is masked in a change stays as it is stored.
    """
    text = json.dumps(mask(body), sort_keys=True, separators=(",", ":"), default=str)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def check_version(what: str, stored: Any, expected: str | None) -> None:
    """StateConflict unless the stored document is the version that the change was made from; None: any is."""
    if expected is not None and version_of(stored) != expected:
        raise StateConflict(
            f"{what} was changed since you read it.",
            remedy="Read it again, and make your change to what is there now.",
            field="version",
        )
