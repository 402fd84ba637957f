"""The OpenAPI document: views described by docstrings and named parameters, who may call them, every path once."""

from __future__ import annotations

import re
from typing import Any, Final

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from segments.domain.cluster_signature import SCHEME

_WORD: Final = re.compile(r"[^A-Za-z0-9]+")


class PinotSchema(AutoSchema):
    """Bodies are free JSON, as Pinot documents them; a view's ``parameters`` names its query parameters per method."""

    def get_request_serializer(self) -> Any:
        """Any JSON object where the method takes a body."""
        return OpenApiTypes.OBJECT if self.method in ("POST", "PUT", "PATCH") else None

    def get_response_serializers(self) -> Any:
        """Any JSON."""
        return OpenApiTypes.OBJECT

    def get_override_parameters(self) -> list[Any]:
        """The query parameters that the view names."""
        listed = getattr(self.view, "parameters", {}).get(self.method, ())
        return [OpenApiParameter(name, str, OpenApiParameter.QUERY) for name in listed]

    def get_tags(self) -> list[str]:
        """The first telling part of the path."""
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

    target_class = "segments.api.cluster_calls.ClusterAuthentication"
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
