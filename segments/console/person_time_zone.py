"""The time zone in which a person reads times: kept in their session, UTC until they choose one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from segments.console.access import page
from segments.errors import InvalidInput
from segments.services.core.page_addresses import own_address

_ZONE: Final = "time_zone"


class PersonTimeZone:
    """Middleware: pages of the console are made in the person's time zone; everything else in UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, with the zone of the session."""
        is_page = request.path == "/" or request.path.startswith("/console/")
        name = request.session.get(_ZONE) if is_page and request.user.is_authenticated else None
        if not name:
            return self._get_response(request)
        with timezone.override(ZoneInfo(name)):
            return self._get_response(request)


@page
@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Read times in the zone that ``zone`` names from now on, ``UTC`` included; back to the page it was chosen on.
    InvalidInput: no such zone.
    """
    zone, back = request.POST.get("zone", ""), request.headers.get("Referer", "")
    if zone not in available_timezones():
        raise InvalidInput(f"'{zone[:60]}' is not a time zone.", remedy="Give a name such as Europe/Berlin, or UTC.")
    if zone == "UTC":
        request.session.pop(_ZONE, None)
    else:
        request.session[_ZONE] = zone
    return redirect(own_address(request, back) or "console:tables")
