"""Findings as an inbox: each with its kind in words, the page that shows more, and what the pass that saw it did."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.db.models import Q
from django.urls import reverse

from segments.console.presenters.finding_remedies import Remedy, remedy_of
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.models import Finding, FindingSnooze, PassRun
from segments.names import REALTIME, split_table_name
from segments.services.upkeep.snooze import snoozes_of

#: Code -> what it is called, where it leads: segment, entry, consumption, servers, push, session or passes.
_KINDS: Final[dict[str, tuple[str, str]]] = {
    "not-served": ("Not served", "segment"),
    "replica-error": ("Replica in error", "segment"),
    "replica-missing": ("Replica missing", "segment"),
    "no-record": ("Record missing", "segments"),
    "orphan-record": ("Unfinished upload", "passes"),
    "no-file": ("File missing", "segment"),
    "stale-push": ("Replacement unfinished", "entry"),
    "few-servers": ("Too few servers", "servers"),
    "missing-periods": ("Days or hours without rows", "segments"),
    "deep-store-unreachable": ("Deep store unreachable", "passes"),
    "pass-failed": ("Pass failed", "passes"),
    "push-blocked": ("Push blocked", "push"),
    "push-failed": ("Push failed", "push"),
    "stream-expiring": ("Messages expire soon", "consumption"),
    "stream-lost": ("Messages expired unread", "consumption"),
    "rollback-stopped": ("Rollback stopped half-way", "lineage"),
    "address-elsewhere": ("File recorded elsewhere", "segments"),
    "pause-long": ("Paused for long", "consumption"),
    "pause-pressure": ("Paused by pressure", "consumption"),
    "mirror-text": ("Text that cannot be kept", "segments"),
    "session-blocked": ("File ingestion blocked", "session"),
    "session-failed": ("File ingestion failed", "session"),
    "worker-stuck": ("Worker does not work", "servers"),
    "task-ended": ("Task took too long", "servers"),
    "task-failed": ("Task fails", "servers"),
    "messages-set-aside": ("Messages set aside", "consumption"),
    "consumption-data-loss": ("Stream data lost", "consumption"),
    "consumption-stuck": ("Partition stands still", "consumption"),
    "consumption-failing": ("Partition cannot be consumed", "consumption"),
    "consumption-half-commit": ("Commit half done", "consumption"),
    "consumption-no-server": ("No server consumes", "consumption"),
    "consumption-stream": ("Stream unreachable", "consumption"),
    "consumption-no-copy": ("Copy missing in the deep store", "segment"),
    "consumption-deep-store": ("Copy missing in the deep store", "consumption"),
    "consumption-pressure": ("Disk pressure", "consumption"),
    "consumption-repair": ("Repair failed", "consumption"),
    "consumption-reset": ("Reset failed", "consumption"),
    "consumption-committing": ("Commit does not end", "segment"),
    "consumption-reingest": ("Rows to be read again", "segment"),
    "consumption-unrecoverable": ("Rows on no server", "segment"),
    "consumption-ends": ("Repair of commits failed", "consumption"),
    "consumption-not-moving": ("Partition does not move", "consumption"),
    "consumption-last-copy": ("Last copy in error", "segment"),
    "consumption-resume": ("Resume failed", "consumption"),
    "consumption-pause": ("Pause incomplete", "consumption"),
    "consumption-uploads": ("Clean-up failed", "passes"),
}
_LINKS: Final = {
    "segment": "Segment",
    "segments": "Segments",
    "entry": "Replacement",
    "consumption": "Consumption",
    "servers": "Servers",
    "passes": "Passes",
    "push": "Push",
    "lineage": "Lineage",
    "session": "Session",
}
#: Runs read for what was done about the findings of a page.
_RUNS: Final = 200
_DEEDS: Final = 3
SORTS: Final[dict[str, tuple[str, list[str]]]] = {
    "": ("most serious", ["severity", "table_name", "code", "id"]),
    "-first": ("newest", ["-first_seen", "id"]),
    "first": ("oldest", ["first_seen", "id"]),
    "table": ("table", ["table_name", "severity", "code", "id"]),
    "kind": ("kind", ["code", "table_name", "id"]),
}


@dataclass(frozen=True)
class Item:
    """One finding. ``link`` and ``link_text`` lead to what it is about; ``deeds`` is what the pass that last saw it, or
    closed it, did. ``snooze`` holds now; ``remedy``: the page that mends it; ``may_act``: it is open, and the person
    has the right to do something about it.
    """

    finding: Finding
    kind: str
    link: str
    link_text: str
    deeds: list[str]
    snooze: FindingSnooze | None = None
    remedy: Remedy | None = None
    may_act: bool = False

    @property
    def assign(self) -> str:
        """The page that says who takes care of it."""
        return self._page("assign_finding", "assign_installation_finding")

    @property
    def snoozing(self) -> str:
        """The page that snoozes it."""
        return self._page("snooze_finding", "snooze_installation_finding")

    @property
    def lift(self) -> str:
        """The page that lifts its snooze."""
        return self._page("lift_snooze", "lift_installation_snooze")

    def _page(self, of_table: str, of_none: str) -> str:
        finding = self.finding
        if finding.table_name:
            return reverse(f"console:{of_table}", args=[finding.table_name, finding.pk])
        return reverse(f"console:{of_none}", args=[finding.pk])


def kinds(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """Codes with their words and how many there are, by word, for a list to choose from."""
    return sorted(((code, f"{kind_of(code)} ({count:,})") for code, count in counts.items()), key=lambda pair: pair[1])


def kind_of(code: str) -> str:
    """What a code is called."""
    return _KINDS[code][0] if code in _KINDS else code.replace("-", " ").capitalize()


def items(
    findings: Sequence[Finding], fixable: Collection[str], may_operate: Callable[[str | None], bool]
) -> list[Item]:
    """A page of findings with what was done. Two queries more, however many there are. ``fixable``: codes about which
    something can be done. ``may_operate``: has the person the right for this table, or (None) for the whole cluster?
    """
    runs, snoozes = _runs(findings), snoozes_of(findings)
    return [
        replace(
            _item(f, runs),
            snooze=snoozes.get(f.pk),
            remedy=remedy_of(f, fixable),
            may_act=f.closed_at is None and may_operate(f.table_name or None),
        )
        for f in findings
    ]


def _item(finding: Finding, runs: Sequence[PassRun]) -> Item:
    target = _KINDS.get(finding.code, ("", "passes"))[1]
    if not finding.table_name:
        target = "servers"  # of the whole installation
    if target in ("segment", "entry", "push", "session") and not finding.subject:
        target = "passes"
    return Item(finding, kind_of(finding.code), _address(finding, target), _LINKS[target], _deeds(finding, runs))


def _address(finding: Finding, target: str) -> str:
    match target:
        case "segment":
            return reverse("console:segment", args=[finding.table_name, finding.subject])
        case "entry":
            return reverse("console:entry", args=[finding.table_name, finding.subject])
        case "push":
            return reverse("console:push", args=[finding.subject])
        case "session":
            return reverse("console:ingestion_session", args=[finding.table_name, finding.subject])
        case "servers":
            return reverse("console:servers")
        case "consumption" if split_table_name(finding.table_name)[1] == REALTIME:
            return reverse("console:consumption", args=[finding.table_name])
        case "lineage":
            return reverse("console:lineage", args=[finding.table_name])
        case "segments":
            return reverse("console:segments", args=[finding.table_name])
    return reverse("console:table_passes", args=[finding.table_name])


def _runs(findings: Sequence[Finding]) -> list[PassRun]:
    """Runs of the pages' tables during which one of these findings was last seen or closed."""
    if not findings:
        return []
    moments = [_moment(f) for f in findings]
    tables = {(f.cluster, f.table_name) for f in findings}
    where = Q(finished_at__gte=min(moments), started_at__lte=max(moments))
    query = PassRun.objects.filter(where, cluster__in={c for c, _ in tables}, table_name__in={t for _, t in tables})
    return list(query.exclude(sentences=[])[:_RUNS])


def _deeds(finding: Finding, runs: Sequence[PassRun]) -> list[str]:
    """Sentences of the run that saw it, other than the finding itself, that speak of its segment or partition."""
    at = _moment(finding)
    sentences = [
        sentence
        for run in runs
        if (run.cluster, run.table_name) == (finding.cluster, finding.table_name)
        and run.started_at <= at <= run.finished_at
        for sentence in run.sentences
        if sentence != finding.message and any(words in sentence for words in _subjects(finding))
    ]
    return list(dict.fromkeys(sentences))[:_DEEDS]


def _moment(finding: Finding) -> datetime:
    return finding.closed_at or finding.last_seen


def _subjects(finding: Finding) -> list[str]:
    subject = finding.subject.split(":")[0]
    if not subject:
        return []
    if is_llc_name(subject):
        return [
            subject,
            f"artition {parse_llc_name(subject).partition} ",
            f"artition {parse_llc_name(subject).partition}:",
        ]
    return [f"artition {subject} ", f"artition {subject}:"] if subject.isdecimal() else [subject]
