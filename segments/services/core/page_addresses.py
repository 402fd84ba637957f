"""Where the console's pages about a cluster are: ``/console/c/NAME/...``, or without that for the
installation's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from django.urls import get_script_prefix, get_urlconf, reverse, set_script_prefix, set_urlconf
from django.utils.http import url_has_allowed_host_and_scheme

PREFIX: Final = "console/c/"
#: What the address and the form of a button call the page of the admin that it was reached from.
RETURN_TO: Final = "next"


def address_of(path: str) -> str:
    """The address of a path of the installation (``/api/docs/``), below the prefix that a proxy has it under."""
    return f"{settings.PATH_PREFIX}{path}"


def path_of(request: HttpRequest) -> str:
    """The path that was asked for, without that prefix."""
    return request.path.removeprefix(settings.PATH_PREFIX)


def default_cluster() -> str:
    """The installation's own cluster, whose pages need no name in the address."""
    return str(settings.CLUSTER_NAME)


def address_in(cluster: str, page: str, *args: Any) -> str:
    """The address of a page of the named cluster, whichever the present page is about."""
    is_default = cluster == default_cluster()
    with mounted_at(address_of("/" if is_default else f"/{PREFIX}{cluster}/")):
        return reverse(page, args=args, urlconf=settings.ROOT_URLCONF if is_default else settings.CLUSTER_URLCONF)


def admin_page(address: str) -> str:
    """The address, if it is a page of the admin, else "": what a link carries must not lead to another site."""
    with at_home():
        is_admin = address.startswith(reverse("admin:index"))
    return address if is_admin and url_has_allowed_host_and_scheme(address, allowed_hosts=None) else ""


def own_address(request: HttpRequest, address: str) -> str:
    """The address, if it leads to this site, else "": what a browser sends must not lead to another one."""
    is_ours = url_has_allowed_host_and_scheme(address, {request.get_host()}, require_https=request.is_secure())
    return address if is_ours else ""


@contextmanager
def at_home() -> Iterator[None]:
    """Links lead to the installation's own cluster: for a page about a cluster that does not exist."""
    before = get_urlconf()
    set_urlconf(None)
    try:
        with mounted_at(address_of("/")):
            yield
    finally:
        set_urlconf(before)


@contextmanager
def mounted_at(prefix: str) -> Iterator[None]:
    """Addresses that are made meanwhile begin with this."""
    before = get_script_prefix()
    set_script_prefix(prefix)
    try:
        yield
    finally:
        set_script_prefix(before)
