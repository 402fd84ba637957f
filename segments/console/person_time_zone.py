"""The time zone in which a person reads times: a setting of theirs, or UTC for as long as they ask for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from segments.console.access import page
from segments.services.core.page_addresses import own_address, path_of
from segments.services.preferences.choices import choices_of, choose_time_zone, time_zone

#: Of the session: times are UTC until the person's zone is asked for again.
_ONLY_UTC: Final = "only_utc"
#: Of the session: the person's zone, so that pages need not ask the database. One chosen in another session counts with
#: the next log-in.
_OWN: Final = "own_zone"


class PersonTimeZone:
    """Middleware: pages of the console are made in the person's time zone; everything else in UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, in the person's zone."""
        path = path_of(request)
        is_page = path == "/" or path.startswith("/console/")
        if not is_page or not request.user.is_authenticated:
            return self._get_response(request)
        own = request.session.get(_OWN) or _remember(request, request.user)
        name = "UTC" if request.session.get(_ONLY_UTC) else own
        request.own_zone = "" if own == "UTC" else own  # type: ignore[attr-defined]
        if name == "UTC":
            return self._get_response(request)
        with timezone.override(ZoneInfo(name)):
            return self._get_response(request)


def _remember(request: HttpRequest, user: Any) -> str:
    own = time_zone(choices_of(user))
    request.session[_OWN] = own
    return own


@receiver(user_logged_in)
def _remember_at_log_in(sender: object, request: HttpRequest, user: Any, **_: object) -> None:
    _remember(request, user)


@page
@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Read times in the zone that ``zone`` names from now on; back to the page it was chosen on. Any but UTC becomes a
    setting of the person; UTC does so with ``keep`` only, else it holds for this session. InvalidInput: no such zone.
    """
    zone, back = request.POST.get("zone", "").strip(), request.headers.get("Referer", "")
    if zone != "UTC" or request.POST.get("keep"):
        choose_time_zone(request.user, zone)
        request.session[_OWN] = zone
        request.session.pop(_ONLY_UTC, None)
    else:
        request.session[_ONLY_UTC] = True
    return redirect(own_address(request, back) or "console:tables")
