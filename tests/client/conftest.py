"""Clients of a cluster in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from pinotadmin_client import Client
from tests.api.cluster import ApiCluster, served

URL = "http://127.0.0.1:9000"
PASSWORD = "a long enough secret"
Connect = Callable[..., Client]


@pytest.fixture
def cluster(tmp_path: Path, db: None, settings: Any) -> Iterator[ApiCluster]:
    settings.ROOT_URLCONF = "segments.api.urls"
    with served(tmp_path) as made:
        yield made


class InMemory(httpx.WSGITransport):
    """Reaches the application without a socket; the connection with the test's transaction stays open."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        for signal in (request_started, request_finished):
            signal.disconnect(close_old_connections)
        try:
            answer = super().handle_request(request)
            body = answer.read()
            answer.close()
            return httpx.Response(answer.status_code, headers=answer.headers, content=body)
        finally:
            for signal in (request_started, request_finished):
                signal.connect(close_old_connections)


@pytest.fixture
def http() -> httpx.Client:
    return httpx.Client(transport=InMemory(app=WSGIHandler()))


@pytest.fixture
def connect(cluster: ApiCluster, http: httpx.Client) -> Connect:
    """A client with these credentials."""
    return lambda **given: Client(URL, http=http, **given)


@pytest.fixture
def client(connect: Connect) -> Client:
    """With a token that may do everything."""
    root = connect(user="root", password=PASSWORD)
    token = root.installation.create_token(name="tests", scopes=["administer", "query"]).token
    return connect(token=token)
