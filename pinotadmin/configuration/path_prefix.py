"""All of it below a path, as a proxy has it at ``https://tools.example/pinot/``: what the address of a request says.

A proxy may pass the prefix on or take it off: with and without it a path means the same, so that the cluster's other
processes, probes and Pinot's clients ask without. What Django makes begins with it (FORCE_SCRIPT_NAME).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_resolver


def without_prefix(scope: dict[str, Any]) -> dict[str, Any]:
    """The request as if it had come without the prefix."""
    prefix = settings.PATH_PREFIX
    if not prefix or not f"{scope['path']}/".startswith(f"{prefix}/"):
        return scope
    raw = scope.get("raw_path") or b""
    return {
        **scope,
        "path": scope["path"].removeprefix(prefix),
        "raw_path": raw.removeprefix(prefix.encode()) if raw.startswith(prefix.encode()) else None,
    }


def with_prefix(scope: dict[str, Any]) -> dict[str, Any]:
    """The request as Django reads it: the whole path, of which the prefix is its script name."""
    return {**scope, "path": f"{settings.PATH_PREFIX}{scope['path']}"} if settings.PATH_PREFIX else scope


def check_prefix() -> None:
    """ImproperlyConfigured: an address of ours begins like that, so that the one could be the other."""
    first = settings.PATH_PREFIX.strip("/").partition("/")[0]
    if first and first in {"static", *_first_words(get_resolver(settings.ROOT_URLCONF).url_patterns)}:
        raise ImproperlyConfigured(
            f"PINOTADMIN_PATH_PREFIX must not begin with /{first}: an address of pinotadmin's own does."
        )


def _first_words(patterns: Iterable[Any]) -> Iterator[str]:
    for pattern in patterns:
        path = str(pattern.pattern)
        if path:
            yield path.partition("/")[0]
        else:
            yield from _first_words(getattr(pattern, "url_patterns", ()))
