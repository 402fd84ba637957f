"""Which page mends a finding: the engine's own fix where it has one, else the operation that a person would choose."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from django.urls import reverse
from django.utils.http import urlencode

from segments.models import Finding
from segments.services.upkeep.passes import PASSES


class Remedy(NamedTuple):
    """The address of the page that mends it, and what its button is called."""

    address: str
    text: str


def _of_table(page: str) -> Callable[[Finding], str]:
    return lambda finding: reverse(f"console:{page}", args=[finding.table_name])


def _of_subject(page: str) -> Callable[[Finding], str]:
    return lambda finding: reverse(f"console:{page}", args=[finding.table_name, finding.subject])


def _run_again(finding: Finding, name: str) -> str:
    """The page that runs this pass over the table; where it does not run by name the page with its runs."""
    if name not in PASSES:
        return reverse("console:table_passes", args=[finding.table_name])
    return f"{reverse('console:run_pass')}?{urlencode({'table': finding.table_name, 'task': name})}"


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
    "pass-failed": (lambda f: _run_again(f, f.subject), "Run again…", False),
    "deep-store-unreachable": (lambda f: _run_again(f, "SegmentStatusChecker"), "Run again…", False),
    "rollback-stopped": (_of_table("lineage"), "Carry it on…", False),
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
