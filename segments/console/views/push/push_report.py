"""What a push found in its files, to take along: as JSON and as CSV. Its page shows the beginning."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from segments.console.access import page
from segments.console.cluster_address import cluster_of
from segments.console.export import csv_response
from segments.models import Push
from segments.services.access.read_rights import readable_pushes
from segments.services.push.reports.document import HEADER, find_report, report_document, report_rows


@page
@require_safe
def as_csv(request: HttpRequest, push_id: uuid.UUID) -> HttpResponseBase:
    """One line for each finding."""
    push = _push(request, push_id)
    return csv_response(f"push-{push.pk}.csv", HEADER, report_rows(push, find_report(push)))


@page
@require_safe
def as_json(request: HttpRequest, push_id: uuid.UUID) -> HttpResponseBase:
    """The whole report."""
    push = _push(request, push_id)
    answer = JsonResponse(report_document(push, find_report(push)), json_dumps_params={"indent": 1})
    answer["Content-Disposition"] = f'attachment; filename="push-{push.pk}.json"'
    return answer


def _push(request: HttpRequest, push_id: uuid.UUID) -> Push:
    push: Push = get_object_or_404(
        readable_pushes(Push.objects.all(), request.user), pk=push_id, cluster=cluster_of(request)
    )
    return push
