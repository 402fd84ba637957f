"""Addresses of the pages that Django knows: of every model in the admin, of every route of the console."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import reverse

from tests.security.routes import Route, all_routes


def console_routes() -> list[Route]:
    """Of the installation's own cluster; each page once."""
    found = [r for r in all_routes() if r.path.startswith(("/console/", "/login")) or r.path == "/"]
    return [r for r in found if "<cluster>" not in r.path]


def whole_pages(
    client: Client, routes: list[Route], values: Mapping[str, object], query: str, *, base: str = "/console/"
) -> tuple[list[str], list[str]]:
    """Addresses that answer a whole page of HTML with these values in their holes, asked for with ``query`` where they
    refuse to answer without; and the routes that refuse all the same.
    """
    pages, refused = [], []
    for route in routes:
        plain = route.address(**values).replace("/console/", base, 1)
        for address in (plain, f"{plain}?{query}"):
            answer = client.get(address)
            if answer.status_code < 300:
                if not answer.streaming and b"<html" in answer.content[:300]:
                    pages.append(address)
                break
        else:
            if answer.status_code not in (302, 405):
                refused.append(route.path)
    return pages, refused


def admin_addresses(person: User) -> Iterator[str]:
    """List, form for a new row, and form, history and deletion of one row of every model, where the person may."""
    request = RequestFactory().get("/")
    request.user = person
    yield reverse("admin:index")
    for model, made in admin.site._registry.items():
        base = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        yield reverse(f"{base}_changelist")
        if made.has_add_permission(request):
            yield reverse(f"{base}_add")
        row = made.get_queryset(request).first()
        assert row is not None, f"No row of {model._meta.label}."
        yield reverse(f"{base}_change", args=[row.pk])
        yield reverse(f"{base}_history", args=[row.pk])
        if made.has_delete_permission(request, row):
            yield reverse(f"{base}_delete", args=[row.pk])
    for label in admin.site._build_app_dict(request):
        yield reverse("admin:app_list", args=[label])
    yield reverse("admin:auth_user_password_change", args=[person.pk])
    yield reverse("admin:password_change")


def admin_actions(person: User) -> Iterator[tuple[str, str]]:
    """(list, action) of everything that can be done with chosen rows."""
    request: Any = RequestFactory().get("/")
    request.user = person
    for model, made in admin.site._registry.items():
        base = f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
        for name in made.get_actions(request):
            yield reverse(base), name
