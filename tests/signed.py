"""Requests as processes of the cluster send them, for tests that speak HTTP themselves."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import httpx
from django.core.handlers.wsgi import WSGIRequest
from django.test import Client
from django.test.client import FakePayload

from segments import wiring
from segments.domain.access.cluster_signature import digest_of
from segments.gateways.signed_calls import CallSigner


class Signed(httpx.Auth):
    """``httpx.get(url, auth=Signed(SECRET))``."""

    requires_request_body = True

    def __init__(self, secret: str) -> None:
        self._signer = CallSigner(secret)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        call = self._signer.sign(
            request.method, str(request.url), request.url.raw_path.decode(), digest_of(request.content)
        )
        request.headers["Authorization"] = call.header
        yield request


class ClusterClient(Client):
    """Django's test client as a process of the cluster."""

    def __init__(self, secret: str, **more: Any) -> None:
        super().__init__(**more)
        self.secret = secret

    def request(self, **request: Any) -> Any:
        payload = request.get("wsgi.input")
        body = payload.read() if payload is not None else b""
        request["wsgi.input"] = FakePayload(body)
        plain = WSGIRequest({**self._base_environ(**request), "wsgi.input": FakePayload(b"")})
        call = CallSigner(self.secret).sign(str(plain.method), wiring.own_url(), plain.get_full_path(), digest_of(body))
        return super().request(**{**request, "HTTP_AUTHORIZATION": call.header})
