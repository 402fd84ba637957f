"""What the admin shows of reingestion: which segments are broken, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest

from segments import wiring
from segments.domain.formats.plural import counted
from segments.errors import PinotAdminError
from segments.models import Segment
from segments.store.records.reingestions import read_job


class BrokenFilter(SimpleListFilter):
    """Segments from a stream that were ended and that no server has."""

    title = "broken"
    parameter_name = "broken"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, str]]:
        """One choice besides all."""
        return [("yes", "On no server")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Segment]) -> QuerySet[Segment]:
        """Those rows."""
        if self.value() != "yes":
            return queryset
        return queryset.filter(partition__isnull=False, is_consuming=False, replicas_online=0, replicas_wanted__gt=0)


def progress(segment: Segment) -> str:
    """How far the latest reingestion of a segment is, in words; "" when there was none."""
    try:
        job = read_job(wiring.context(segment.table.cluster.name).store, segment.table.name, segment.name)
    except PinotAdminError as error:
        return str(error)
    if job is None:
        return ""
    text = f"{job.state}: {counted(job.rows, 'row')}, at {job.at} of {job.end}, by {job.instance}"
    return f"{text}. {job.error}" if job.error else text
