"""The OpenAPI document as ``/api/schema/`` answers it, without a cluster."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.settings import patched_settings

from segments import wiring
from segments.api.routes import OF_THE_INSTALLATION
from segments.services.core.context import Context


def openapi_document() -> dict[str, Any]:
    """The whole document, parsed."""
    route = next(route for route in OF_THE_INSTALLATION if route.name == "api-schema")
    # Views are made for it, and one of them takes the time.
    nothing = cast(Context, SimpleNamespace(clock=lambda: 0, cluster="", store=None))
    with wiring.use(nothing), patched_settings(route.made_with["custom_settings"]):
        made = SchemaGenerator(urlconf="segments.api.urls").get_schema(request=None, public=True)
    found: dict[str, Any] = json.loads(OpenApiJsonRenderer().render(made))
    return found
