"""What all views share: the cluster's context, the actor, parameters read strictly, and their OpenAPI description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from segments import wiring
from segments.api.authentication import actor_of
from segments.api.clusters.cluster_calls import sign
from segments.api.openapi import AnswerKind, PinotSchema
from segments.api.permissions import Right
from segments.domain.formats.bounded_json import parse_json
from segments.domain.formats.whole_number import whole_number
from segments.errors import InvalidInput, NotFound
from segments.names import check_node_name, shown
from segments.services.core.context import Actor, Context


class ApiView(APIView):
    """Base of all views. ``rights`` names the right per method, ``parameters`` the query parameters per method."""

    rights: ClassVar[dict[str, Right]] = {}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {}
    #: For the OpenAPI document, per method: the model of the body, and what is answered with which status when all is
    #: well.
    bodies: ClassVar[dict[str, Any]] = {}
    answers: ClassVar[dict[str, dict[int, AnswerKind]]] = {}
    #: What reading takes where it is restricted. "table": the right to read the table that is named, or without one the
    #: whole cluster; "filtered": the view leaves out, or refuses, what its asker may not read; "open": it says nothing
    #: of any table.
    reading: ClassVar[Literal["table", "filtered", "open"]] = "table"
    #: Methods that processes of the cluster may call; all others are refused to them.
    for_cluster: ClassVar[frozenset[str]] = frozenset()
    schema = PinotSchema()
    cluster: str | None = None
    #: Methods that have a use case on every kind of cluster; the others of Pinot's own paths are passed on to it.
    on_pinot: ClassVar[frozenset[str]] = frozenset()
    #: Methods that have one where Pinot's version lacks the capability named; other versions answer themselves.
    where_lacking: ClassVar[dict[str, str]] = {}

    def dispatch(self, request: HttpRequest, *args: Any, cluster: str | None = None, **kwargs: Any) -> HttpResponseBase:
        """As usual, with the cluster of ``/clusters/<cluster>/...`` kept aside; what is Pinot's own business goes to
        it.
        """
        self.cluster = cluster
        if cluster is not None and self.is_passed_on(request, cluster):
            return _pass_on(request, cluster)
        return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """As usual; then the names in the address, which are refused before anything is searched."""
        super().initial(request, *args, **kwargs)
        check_names(kwargs)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        """As usual, and signed for a process of the cluster."""
        made = super().finalize_response(request, response, *args, **kwargs)
        sign(getattr(request, "_user", None), made)
        return made

    def is_passed_on(self, request: HttpRequest, cluster: str) -> bool:
        """Is this one of Pinot's own paths, on a cluster that answers it itself, without a use case of ours?"""
        if request.method in self.on_pinot or _path_of(request).startswith("api/v1/"):
            return False
        try:
            ctx = wiring.context(cluster)
        except NotFound:
            return False  # the view says it, to those who may know
        capability = self.where_lacking.get(str(request.method))
        return ctx.engine.offers.pass_through and not (capability and ctx.engine.lacks(ctx, capability))

    @property
    def largest_body(self) -> int:
        """Bytes that a request may have."""
        return int(settings.MAX_BODY_BYTES)

    def table_asked(self, request: Request) -> str | None:
        """The table (raw or typed name) that a request is about, for rights by table; None: the cluster as a whole."""
        found = self.kwargs.get("table") or self.kwargs.get("schema")
        return str(found) if found else None

    @property
    def cluster_name(self) -> str:
        """The cluster that the address names, or the installation's own. It may not exist."""
        return self.cluster or str(settings.CLUSTER_NAME)

    @property
    def ctx(self) -> Context:
        """The cluster that is asked. NotFound when there is none of that name."""
        return wiring.context(self.cluster)

    @property
    def actor(self) -> Actor:
        """Who asks, and why."""
        return actor_of(self.request)


def _path_of(request: HttpRequest) -> str:
    """What follows ``/clusters/NAME/``."""
    return request.path_info.split("/", 3)[3]


def _pass_on(request: HttpRequest, cluster: str) -> HttpResponseBase:
    from segments.api.clusters.pass_through import PassThrough  # which is a view, too

    return PassThrough.as_view()(request, cluster=cluster, path=_path_of(request))


def check_names(arguments: Mapping[str, Any]) -> None:
    """The names that an address holds. Raises InvalidInput for one that nothing can have."""
    for key, value in arguments.items():
        if isinstance(value, str) and key != "path":
            check_node_name(value, key)


def status(text: str) -> Response:
    """Pinot's answer to a change."""
    return Response({"status": text})


def text_param(request: Request, name: str) -> str | None:
    """The first value of a query parameter, as in JAX-RS; None when it is missing or empty."""
    values = request.query_params.getlist(name)
    if not values:
        return None
    if "\x00" in values[0]:
        raise InvalidInput(
            f"Parameter '{name}' holds the character U+0000.", remedy="Leave it out; no name and no text can hold it."
        )
    return values[0].strip() or None


def need_text(request: Request, name: str) -> str:
    """A parameter that must be there. Raises InvalidInput."""
    value = text_param(request, name)
    if value is None:
        raise InvalidInput(f"Parameter '{name}' is missing.", remedy=f"Add {name}=...")
    return value


def bool_param(request: Request, name: str, default: bool = False) -> bool:
    """``true`` or ``false`` in any case. Raises InvalidInput for other text."""
    return parse_bool(text_param(request, name), name, default)


def parse_bool(value: str | None, name: str, default: bool) -> bool:
    """The text of a flag; None is the default. Raises InvalidInput."""
    if value is None or not value.strip():
        return default
    if value.strip().lower() not in ("true", "false"):
        raise InvalidInput(f"'{name}' must be true or false, not '{value}'.")
    return value.strip().lower() == "true"


def int_param(request: Request, name: str) -> int | None:
    """A whole number, None when it is missing. Raises InvalidInput."""
    value = text_param(request, name)
    if value is None:
        return None
    number = whole_number(value.removeprefix("-"))
    if number is None:
        raise InvalidInput(
            f"'{name}' must be a whole number of at most 63 bits, not '{shown(value)}'.", remedy=f"Write {name}=10."
        )
    return -number if value.startswith("-") else number


def json_body(request: Request, *, optional: bool = False) -> Any:
    """The JSON body whatever the content type says; None when it is empty and ``optional``. Raises InvalidInput."""
    raw = request._request.body
    if not raw.strip():
        if optional:
            return None
        raise InvalidInput("The request has no body.", remedy="Send JSON.")
    return parse_json(raw, what="The body")


def text_field(request: Request, name: str) -> str | None:
    """A text of the JSON body's object; None for anything else, also for a body that is not JSON."""
    try:
        body = json_body(request, optional=True)
    except InvalidInput:
        return None
    value = body.get(name) if isinstance(body, dict) else None
    return value if isinstance(value, str) else None
