"""A real OpenID Connect provider on this machine, as a process of its own, and an installation that uses it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from django.http import HttpResponse
from django.test import Client

from tests.real_parts import free_port
from tests.waiting import poll

RETURN = "/login/sso/return/"


@dataclass(frozen=True)
class Provider:
    """``issuer``: its address."""

    issuer: str

    def describe(self, subject: str, **claims: object) -> None:
        """What it tells of a person from now on."""
        requests.put(f"{self.issuer}/users/{subject}", json=claims, timeout=10).raise_for_status()

    def agree(self, url: str, subject: str) -> str:
        """What a browser that was sent to ``url`` comes back to once the person has signed in there."""
        answer = requests.post(url, data={"sub": subject}, allow_redirects=False, timeout=10)
        assert answer.status_code == 302, answer.text
        back = urlsplit(answer.headers["Location"])
        return f"{back.path}?{back.query}"


@pytest.fixture(scope="session")
def provider_process() -> Iterator[Provider]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    provider = Provider(f"http://127.0.0.1:{port}")

    def answers() -> bool:
        try:
            return requests.get(f"{provider.issuer}/.well-known/openid-configuration", timeout=5).ok
        except requests.ConnectionError:
            return False

    try:
        poll(answers, 60, "the identity provider")
        yield provider
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def provider(provider_process: Provider, settings: Any, db: None) -> Provider:
    """The installation signs people in with it."""
    settings.OIDC_ISSUER = provider_process.issuer
    settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = "pinotadmin", "a secret of the client"
    settings.OIDC_NAME = "Example ID"
    return provider_process


def leaving_to(answer: Any) -> str:
    """Where a page sends the browser on to: no redirect, because forms of our pages may not lead elsewhere."""
    assert answer.status_code == 200, answer.content
    return str(answer["Refresh"]).removeprefix("0; url=")


def sign_in(provider: Provider, subject: str, client: Client | None = None, wanted: str = "") -> HttpResponse:
    """The answer to a browser that comes back."""
    client = client or Client()
    left = client.post("/login/sso/", {"next": wanted})
    assert left.status_code == 200, left.content
    found: HttpResponse = client.get(provider.agree(leaving_to(left), subject))  # type: ignore[assignment]
    return found
