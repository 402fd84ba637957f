"""Formats a query's text on the server, which knows Pinot's SQL."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_POST

from segments.console.access import page
from segments.console.forms import QueryForm
from segments.errors import PinotAdminError


@page
@require_POST
def formatted(request: HttpRequest) -> JsonResponse:
    """``{"sql"}``, or 400 with a ``message``; nothing runs."""
    from segments.dataplane.query.sql.formatted import formatted_sql  # heavy; only who queries needs it

    form = QueryForm(request.POST)
    if not form.is_valid():
        return JsonResponse({"message": "Write a query first."}, status=400)
    try:
        return JsonResponse({"sql": formatted_sql(form.cleaned_data["sql"])})
    except PinotAdminError as error:
        return JsonResponse({"message": str(error)}, status=400)
