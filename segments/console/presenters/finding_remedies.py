"""Which page mends a finding: the engine's own fix where it has one, else the operation that a person would choose."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from django.urls import reverse

from segments.models import Finding


class Remedy(NamedTuple):
    """The address of the page that mends it, and what its button is called."""

    address: str
    text: str


def _of_table(page: str) -> Callable[[Finding], str]:
    return lambda finding: reverse(f"console:{page}", args=[finding.table_name])


def _of_subject(page: str) -> Callable[[Finding], str]:
    return lambda finding: reverse(f"console:{page}", args=[finding.table_name, finding.subject])


#: Code -> (address, button, does it need the finding's subject).
_PAGES: Final[dict[str, tuple[Callable[[Finding], str], str, bool]]] = {
    "push-blocked": (lambda f: reverse("console:push", args=[f.subject]), "Decide…", True),
    "push-failed": (lambda f: f"{reverse('console:new_push')}?again={f.subject}", "Push again…", True),
    "session-blocked": (_of_subject("ingestion_session"), "Decide…", True),
    "session-failed": (_of_subject("retry_ingestion"), "Retry…", True),
    "pause-long": (_of_table("resume"), "Resume…", False),
    "stream-expiring": (_of_table("stream"), "See what waits…", False),
    "stream-lost": (_of_table("stream"), "See what waits…", False),
    "pause-pressure": (_of_table("resume"), "Resume…", False),
    "stale-push": (_of_subject("rollback"), "Revert…", True),
    "replica-error": (_of_subject("reset_segment"), "Reset…", True),
    "replica-missing": (_of_subject("reset_segment"), "Reset…", True),
    "not-served": (_of_subject("reset_segment"), "Reset…", True),
    "messages-set-aside": (_of_table("set_aside"), "Replay…", False),
    "pass-failed": (_of_table("table_passes"), "Run again…", False),
    "deep-store-unreachable": (_of_table("table_passes"), "Run again…", False),
}


def remedy_of(finding: Finding, fixable: Collection[str]) -> Remedy | None:
    """Where an open finding is mended; None: no page can. ``fixable``: codes that the engine itself can put right."""
    if finding.closed_at is not None or not finding.table_name:
        return None
    if finding.code in fixable:
        return Remedy(reverse("console:fix_finding", args=[finding.table_name, finding.pk]), "Fix it…")
    if finding.code not in _PAGES:
        return None
    address, text, is_about = _PAGES[finding.code]
    return Remedy(address(finding), text) if finding.subject or not is_about else None
