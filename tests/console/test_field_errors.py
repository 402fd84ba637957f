"""A refusal that names a field of the form is shown at that field, tied to it for screen readers."""

from __future__ import annotations

from typing import Any

import pytest

from segments.console.forms import ChecksForm
from segments.console.token_form import TokenForm
from segments.errors import InvalidInput, StateConflict
from tests.console.conftest import logged_in


@pytest.mark.parametrize(
    ("form", "name", "field"),
    [
        (TokenForm({}), "expiresInDays", "days"),
        (TokenForm({}), "tables", "tables"),
        (ChecksForm({}, fingerprint=""), "reason", "reason"),
        (ChecksForm({}, fingerprint=""), "something.else", "__all__"),
    ],
)
def test_the_error_is_at_the_field(form: Any, name: str, field: str) -> None:
    form.is_valid()
    form.refuse(InvalidInput("This is wrong.", field=name))
    assert "This is wrong." in str(form.errors[field])


def test_an_error_without_a_field_is_at_the_place_that_the_page_names() -> None:
    form = ChecksForm({"document": "{}", "reason": "x", "seen": "1"}, fingerprint="1")
    form.is_valid()
    form.refuse(StateConflict("Not now."))
    assert form.non_field_errors() == ["Not now."]


@pytest.mark.parametrize(
    ("path", "values", "field"),
    [
        (
            "/console/clusters/new/",
            {"name": "n", "controller_urls": "http://h:1", "broker_url": "ftp://x", "reason": "r"},
            "broker_url",
        ),
        (
            "/console/clusters/new/",
            {"name": "n", "controller_urls": "http://h:1", "zookeeper": "::", "reason": "r"},
            "zookeeper",
        ),
        (
            "/console/tokens/",
            {"name": "n", "scopes": ["read"], "tables": "a b", "cluster": "*", "days": "5", "reason": "r"},
            "tables",
        ),
    ],
)
def test_pages_show_it_there(db: None, path: str, values: dict[str, Any], field: str) -> None:
    page = logged_in("root", is_superuser=True).post(path, values)
    assert page.context["form"].errors.keys() == {field}
    assert f'id="id_{field}_error"' in page.content.decode()
