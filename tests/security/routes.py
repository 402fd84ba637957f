"""Every address of the installation, as Django's resolver and the servers' own table know them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

_CONVERTER = re.compile(r"<(?:\w+:)?(\w+)>")
_REST_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class Route:
    """One address with what stands behind it. ``path`` has its parameters as ``<name>``."""

    path: str
    callback: Any

    @property
    def view(self) -> Any:
        """The view's class; None for a function."""
        return getattr(self.callback, "view_class", None) or getattr(self.callback, "cls", None)

    @property
    def is_rest(self) -> bool:
        return hasattr(self.view, "authentication_classes")

    @property
    def methods(self) -> tuple[str, ...]:
        """What a REST view answers; pages are asked by both methods that browsers use."""
        return tuple(m for m in _REST_METHODS if hasattr(self.view, m.lower())) if self.is_rest else ("GET", "POST")

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names in the address."""
        return tuple(_CONVERTER.findall(self.path))

    def address(self, **values: Any) -> str:
        """With the parameters filled in."""
        return _CONVERTER.sub(lambda found: str(values[found[1]]), self.path)


def all_routes() -> list[Route]:
    """Each once, in the resolver's order; what stands below ``/clusters/<cluster>/`` are the same views once more."""
    return list(_walk(get_resolver(), "/"))


def own_rest_routes() -> list[Route]:
    """REST addresses of the installation's own cluster."""
    return [r for r in all_routes() if r.is_rest and not r.path.startswith("/clusters/")]


def _walk(resolver: URLResolver, prefix: str) -> Iterator[Route]:
    for pattern in resolver.url_patterns:
        path = prefix + str(pattern.pattern).removeprefix("^").replace(r"\Z", "")
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern, path)
        elif isinstance(pattern, URLPattern):
            yield Route(_CONVERTER.sub(r"<\1>", path), pattern.callback)
