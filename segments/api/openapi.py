"""The OpenAPI document: views described by docstrings, named parameters, typed bodies and answers; who may call them;
every path once.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.parsers import MultiPartParser

from segments.domain.access.cluster_signature import SCHEME
from segments.domain.formats.json_model import json_schema_of

_WORD: Final = re.compile(r"[^A-Za-z0-9]+")
#: What an answer is; "json" is any JSON value, "file" any bytes.
AnswerKind = Literal["object", "list", "json", "text", "csv", "file", "empty"]
_ANSWERS: Final[dict[str, tuple[str, Any]]] = {
    "object": ("application/json", {"type": "object", "additionalProperties": {}}),
    "list": ("application/json", {"type": "array", "items": {}}),
    "json": ("application/json", {}),
    "text": ("text/plain", {"type": "string"}),
    "csv": ("text/csv", {"type": "string"}),
    "file": ("application/octet-stream", {"type": "string", "format": "binary"}),
}
_REF: Final = "#/components/schemas/{name}"
#: Refusals that any operation may answer with; all of them have the same body.
_REFUSALS: Final = {
    "400": "A parameter, a name or the body is malformed, or does not fit.",
    "401": "No or wrong credentials.",
    "403": "The user has not the right, or a rule of the table forbids it.",
    "404": "The table, segment or other thing does not exist.",
    "406": "JSON is not among the types that the Accept header names.",
    "409": "The thing is in a state that does not allow this, or somebody else changed it meanwhile.",
    "410": "What is to be refreshed does not exist.",
    "412": "A condition does not hold: a check of the table, an If-Match.",
    "413": "The body is too large.",
    "415": "The body is of a type that is not taken here.",
    "429": "Too many requests, or wrong passwords; Retry-After says when to try again.",
    "503": "A part that this needs does not answer now.",
}
_ERROR: Final = {
    "type": "object",
    "description": "What is wrong, with which thing, and what to do.",
    "properties": {"code": {"type": "integer"}, "error": {"type": "string"}, "remedy": {"type": "string"}},
    "required": ["code", "error"],
}
_models: Final[set[Any]] = set()


class PinotSchema(AutoSchema):
    """A view's ``parameters`` names its query parameters, ``bodies`` the models of bodies, ``answers`` its answers,
    each per method.

    A method without a model takes no JSON, an answer that is not named is 200 with a JSON object.
    """

    def get_request_serializer(self) -> Any:
        """The model of the body; the parts of a form where the view takes one; None without a body."""
        if self.method not in ("POST", "PUT", "PATCH"):
            return None
        model = getattr(self.view, "bodies", {}).get(self.method)
        if model is None:
            return OpenApiTypes.OBJECT if self.view.parser_classes == (MultiPartParser,) else None
        _models.add(model)
        [schema], _ = msgspec.json.schema_components([model], schema_hook=json_schema_of, ref_template=_REF)
        return {"application/json": schema}

    def get_response_serializers(self) -> Any:
        """{(status, content type): schema} of what is answered when all is well."""
        answers: dict[int, AnswerKind] = getattr(self.view, "answers", {}).get(self.method, {200: "object"})
        return {
            status if kind == "empty" else (status, _ANSWERS[kind][0]): None if kind == "empty" else _ANSWERS[kind][1]
            for status, kind in answers.items()
        }

    def get_override_parameters(self) -> list[Any]:
        """The query parameters that the view names."""
        listed = getattr(self.view, "parameters", {}).get(self.method, ())
        return [OpenApiParameter(name, str, OpenApiParameter.QUERY) for name in listed]

    def get_tags(self) -> list[str]:
        """The first part of the path that says something."""
        parts = [p for p in self.path.strip("/").split("/") if p not in ("api", "v1", "v2")]
        return [parts[0] if parts else "root"]

    def get_operation_id(self) -> str:
        """Method and path as one name."""
        return _WORD.sub("_", f"{self.method.lower()}_{self.path}").strip("_")


class BasicScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the base registers subclasses untyped
    """HTTP Basic."""

    target_class = "segments.api.authentication.BasicAuthentication"
    name = "basic"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """As OpenAPI names it."""
        return {"type": "http", "scheme": "basic"}


class ClusterScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the base registers subclasses untyped
    """Signed requests of the cluster's own processes."""

    target_class = "segments.api.clusters.cluster_calls.ClusterAuthentication"
    name = "cluster"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """As OpenAPI names it."""
        return {"type": "http", "scheme": SCHEME}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the base registers subclasses untyped
    """API tokens."""

    target_class = "segments.api.authentication.TokenAuthentication"
    name = "apiToken"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """As OpenAPI names it."""
        return {"type": "http", "scheme": "bearer"}


def own_paths(endpoints: list[tuple[Any, ...]], **_: Any) -> list[tuple[Any, ...]]:
    """Leave out the same paths below /clusters/{cluster}/."""
    return [endpoint for endpoint in endpoints if not endpoint[0].startswith("/clusters/")]


def with_refusals(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """The finished document with the models of bodies, and with the refusals that every operation may answer with."""
    models = msgspec.json.schema_components(sorted(_models, key=repr), schema_hook=json_schema_of, ref_template=_REF)[1]
    listed: dict[str, Any] = result.setdefault("components", {})
    listed.setdefault("schemas", {}).update({**models, "Error": _ERROR})
    content = {"application/json": {"schema": {"$ref": _REF.format(name="Error")}}}
    listed["responses"] = {
        f"Refusal{code}": {"description": text, "content": content} for code, text in _REFUSALS.items()
    }
    refusals = {code: {"$ref": f"#/components/responses/Refusal{code}"} for code in _REFUSALS}
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"] = {**refusals, **operation["responses"]}
    return result
