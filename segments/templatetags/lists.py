"""Columns and saved views of the list that a page shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import template

from segments.services.preferences import choices

register = template.Library()


@dataclass(frozen=True)
class ListTools:
    """``columns``: (place, name, is it shown); ``views``: (name, query); ``query``: the filters that are chosen now;
    ``css``: classes of the table, by which the others are left out.
    """

    name: str
    columns: list[tuple[int, str, bool]]
    views: list[tuple[str, str]]
    query: str
    css: str


@register.simple_tag(takes_context=True)
def list_tools(context: Any, name: str) -> ListTools:
    """What the person chose for this list."""
    request = context["request"]
    chosen = choices.choices_of(request.user) if request.user.is_authenticated else {}
    hidden = choices.hidden_columns(chosen, name)
    given = request.GET.copy()
    given.pop("page", None)
    return ListTools(
        name,
        [(place, label, place not in hidden) for place, label in choices.LISTS[name].items()],
        choices.saved_views(chosen, name),
        given.urlencode(),
        "".join(f" hide-{place}" for place in hidden),
    )
