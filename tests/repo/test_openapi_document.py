"""The OpenAPI document: every operation has a summary, a description of its answer and its refusals, and examples that
fit its own schemas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from segments.api.documentation import operations as documented
from segments.api.documentation import parameters
from tests.client.document import openapi_document

DOCUMENT = openapi_document()
OPERATIONS = dict(documented.operations(DOCUMENT))
#: Where to write what is missing.
HOW = "segments/api/documentation/ has summaries.toml and examples/*.json, by method and path"
#: It always answers 409: a run goes with its session.
NEVER_DONE = {"DELETE /tasks/task/{task}", "DELETE /tasks/lock/forceRelease"}


def answers(operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(content type, content) of the answers when all is well."""
    for response in operation["responses"].values():
        yield from response.get("content", {}).items()


def given(name: str) -> Iterator[dict[str, Any]]:
    """The contents of an operation, of its body and its answers, that have an example."""
    operation = OPERATIONS[name]
    contents = [*operation.get("requestBody", {}).get("content", {}).values(), *(c for _, c in answers(operation))]
    return (content for content in contents if "example" in content)


def test_every_operation_has_a_summary_a_description_and_refusals() -> None:
    for name, operation in OPERATIONS.items():
        assert operation.get("summary"), f"{name} has no summary: {HOW}."
        assert operation.get("description"), f"The method of the view of {name} has no docstring."
        for status, response in operation["responses"].items():
            assert "$ref" in response or response["description"], f"{name} does not say what {status} means."
        assert {"400", "401", "403", "404", "409", "503"} <= set(operation["responses"])


def test_every_parameter_says_what_it_means() -> None:
    for name, operation in OPERATIONS.items():
        for parameter in operation.get("parameters", ()):
            where = "segments/api/documentation/parameters.toml"
            assert parameter.get("description"), f"{name}: '{parameter['name']}' is not described in {where}."


def test_parameters_are_described_that_exist_and_where_they_are_needed_once() -> None:
    there = {
        (name, parameter["in"], parameter["name"])
        for name, operation in OPERATIONS.items()
        for parameter in operation.get("parameters", ())
    }
    assert set(parameters.everywhere()) - {(kind, name) for _, kind, name in there} == set()
    named = {(operation, name) for operation, _, name in there}
    assert set(parameters.of_operations()) - named == set()
    needed = {(operation, name) for operation, names in parameters.NEEDED.items() for name in names}
    assert needed - named == set()


def test_summaries_and_examples_are_of_operations_that_exist() -> None:
    named = {*documented.summaries(), *documented.ANSWERS, *documented.examples()} - {"refusals"}
    assert sorted(named - set(OPERATIONS)) == []


def test_no_two_operations_have_the_same_summary() -> None:
    summaries = [operation["summary"] for operation in OPERATIONS.values()]
    assert sorted(s for s in set(summaries) if summaries.count(s) > 1) == []


def test_every_refusal_has_an_example() -> None:
    for name, refusal in DOCUMENT["components"]["responses"].items():
        example = refusal["content"]["application/json"]["example"]
        assert name.endswith(str(example["code"]))


def test_every_body_and_every_answer_has_an_example() -> None:
    for name, operation in OPERATIONS.items():
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            assert kind == "multipart/form-data" or "example" in content, f"{name} has no example of its body: {HOW}."
        shown = [content for kind, content in answers(operation) if kind != "application/octet-stream"]
        if shown and name not in NEVER_DONE:
            assert any("example" in content for content in shown), f"{name} has no example of an answer: {HOW}."


@pytest.mark.parametrize("name", [name for name in OPERATIONS if any(given(name))])
def test_examples_fit_the_schemas(name: str) -> None:
    for content in given(name):
        schema = {**content["schema"], "components": DOCUMENT["components"]}
        jsonschema.validate(content["example"], schema)


def test_examples_show_no_secret_of_a_test_and_no_place_of_a_machine() -> None:
    text = str(documented.examples())
    for word in ("/tmp/", "pytest", "hunter2", "hidden-", "/root/", "/home/"):
        assert word not in text
