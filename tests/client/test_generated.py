"""``pinotadmin_client/generated`` is what the generator makes out of the OpenAPI document now."""

from __future__ import annotations

from tests.client.document import openapi_document
from tests.client.generate import TARGET, generated


def test_the_client_is_as_generated() -> None:
    made = generated(openapi_document())
    assert {str(f.relative_to(TARGET)) for f in TARGET.rglob("*.py")} == {*made, "__init__.py"}
    for name, text in made.items():
        assert (TARGET / name).read_text() == text, f"{name} is old: python -m tests.client.generate"
