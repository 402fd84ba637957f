"""Sends a browser that submitted a form to the identity provider.

By a page that goes on, not a redirect: browsers apply the policy of the form's page, which lets forms go to this
installation only, to every redirect that follows.
"""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

_HEADER: Final = "Refresh"


def send_to_provider(request: HttpRequest, url: str, words: str) -> HttpResponse:
    """A page with ``words`` that leads to ``url``, an address of the provider that was checked."""
    answer = render(request, "console/elsewhere.html", {"url": url, "place": settings.OIDC_NAME, "words": words})
    answer[_HEADER] = f"0; url={url}"
    return answer
