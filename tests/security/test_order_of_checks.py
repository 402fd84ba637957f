"""Nothing that somebody sends is parsed before it is known that they may do such a thing to any table at all."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from segments.models import Grant
from tests.api.cluster import ApiCluster, config_of, schema_of
from tests.security.growth.timing import seconds
from tests.security.sizes.texts import aliases

JSON = "application/json"
_DEEP = "[" * 400


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was parsed of bodies since."""
    seen: list[str] = []

    def noted(name: str, real: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            seen.append(name)
            return real(*args, **kwargs)

        return run

    for place in (
        "segments.api.pushes.parse_spec",
        "segments.api.base.parse_json",
        "segments.console.views.push.pushes.parse_spec",
    ):
        module, name = place.rsplit(".", 1)
        monkeypatch.setattr(place, noted(place, getattr(__import__(module, fromlist=[name]), name)))
    return seen


@pytest.mark.parametrize("path", ["/api/v1/pushes", "/tables", "/schemas"])
@pytest.mark.parametrize("body", [aliases(7), _DEEP, "{" * 400, '{"a": ' + _DEEP])
def test_the_body_of_a_login_without_rights_is_not_parsed(
    cluster: ApiCluster, parsed: list[str], path: str, body: str
) -> None:
    client = cluster.as_user("nobody")
    took = seconds(lambda text: client.post(path, text, JSON), body)
    assert client.post(path, body, JSON).status_code == 403
    assert (parsed, took < 1) == ([], True)


def test_the_push_form_of_a_login_without_rights_is_not_parsed(cluster: ApiCluster, parsed: list[str]) -> None:
    client = cluster.as_user("nobody")
    client.force_login(User.objects.get(username="nobody"))
    answer = client.post(reverse("console:new_push"), {"spec": aliases(7)})
    assert (answer.status_code, parsed) == (403, [])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/v1/pushes", aliases(7)),
        ("/api/v1/pushes", "a: &a [*a]"),
        ("/api/v1/pushes", _DEEP),
        ("/tables", '{"a": ' + _DEEP),
        ("/schemas", "[" * 100_000),
        ("/tables", '{"tableName": "sales_x", "tableName": "t"}'),
        ("/tables", '{"a": ' + "1" * 5_000 + "}"),
        ("/tables", '{"a": 1e999}'),
    ],
)
def test_a_grant_on_one_table_makes_such_a_body_a_bad_request_at_once(
    cluster: ApiCluster, path: str, body: str
) -> None:
    client = cluster.as_user("ann")
    Grant.objects.create(
        user=User.objects.get(username="ann"), tables="sales_*", right="administer", cluster="pinotadmin"
    )
    took = min(seconds(lambda text: client.post(path, text, JSON), body) for _ in range(2))
    assert client.post(path, body, JSON).status_code in (400, 403)
    assert took < 1


def test_a_grant_on_one_table_does_not_open_another_that_the_body_names(cluster: ApiCluster) -> None:
    client = cluster.as_user("ann")
    Grant.objects.create(
        user=User.objects.get(username="ann"), tables="sales_*", right="administer", cluster="pinotadmin"
    )
    assert client.post("/schemas", schema_of("sales_x"), JSON).status_code == 200
    assert client.post("/schemas", schema_of("other"), JSON).status_code == 403
    assert client.post("/tables", config_of("other"), JSON).status_code == 403
    assert client.post("/tables", config_of("sales_x"), JSON).status_code == 200
