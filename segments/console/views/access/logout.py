"""Logging out: here and, for who came by it, at the identity provider, so that nobody is signed in again by a click."""

from __future__ import annotations

import logging
import secrets
from typing import Any, Final
from urllib.parse import urljoin

from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from segments.console.views.access.elsewhere import send_to_provider
from segments.errors import PinotAdminError
from segments.services.access.sign_on_settings import identity_provider

log = logging.getLogger(__name__)
#: Of the session: the token with which the provider signed this person in.
KEY: Final = "sign_on_id_token"


class Logout(LogoutView):
    """The session ends first, whatever the provider says."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """On to the provider, for who was signed in by it, else to the log-in page."""
        token = str(request.session.get(KEY) or "")
        answer = super().post(request, *args, **kwargs)
        url = _end_of_session(request, token) if token else ""
        return send_to_provider(request, url, "You are logged out here.") if url else answer


def _end_of_session(request: HttpRequest, token: str) -> str:
    """Empty where the provider has no such address, or does not answer."""
    provider = identity_provider()
    if provider is None:
        return ""
    back = urljoin(settings.OIDC_REDIRECT_URL or request.build_absolute_uri(), reverse("console:login"))
    try:
        return provider.end(token, back, secrets.token_urlsafe(16))
    except PinotAdminError as error:
        log.warning("The session at the identity provider goes on: %s", error)
        return ""
