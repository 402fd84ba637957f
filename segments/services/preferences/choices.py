"""A person's time zone, and the columns and saved views of lists. Nothing of it changes what anybody may see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import available_timezones

from segments.errors import InvalidInput
from segments.models import PersonSetting

#: List -> its columns that can be left out: place in the table, name.
LISTS: Final[dict[str, dict[int, str]]] = {
    "tables": {
        2: "Health", 3: "Rows", 4: "Segments", 5: "Size", 6: "Replicas", 7: "Snapshot", 8: "Last push", 9: "Findings",
    },
    "pushes": {3: "Progress", 4: "Rows", 5: "Time taken", 6: "Started", 7: "By"},
    "findings": {3: "Table", 4: "Since", 5: "Last seen"},
    "audit": {4: "Target", 5: "Outcome", 6: "Reason"},
}  # fmt: skip
_ZONE: Final = "time-zone"
_MOST_VIEWS: Final = 30
_LONGEST_NAME: Final = 60
_LONGEST_QUERY: Final = 2_000


def choices_of(user: Any) -> dict[str, Any]:
    """All that the person chose, by key; the functions below read it."""
    return dict(PersonSetting.objects.filter(user=user).values_list("key", "value"))


def time_zone(chosen: Mapping[str, Any]) -> str:
    """The zone that the person reads times in; UTC until one was chosen."""
    found = chosen.get(_ZONE, "UTC")
    return found if isinstance(found, str) and found in available_timezones() else "UTC"


def choose_time_zone(user: Any, zone: str) -> None:
    """From now on. InvalidInput: no such zone."""
    if zone not in available_timezones():
        raise InvalidInput(
            f"'{zone[:60]}' is not a time zone.", remedy="Give a name such as Europe/Berlin, or UTC.", field="zone"
        )
    PersonSetting.objects.update_or_create(user=user, key=_ZONE, defaults={"value": zone})


def hidden_columns(chosen: Mapping[str, Any], page: str) -> list[int]:
    """Places of the columns that the person left out of a list."""
    found, known = chosen.get(f"columns:{page}"), LISTS.get(page, {})
    return [n for n in found if n in known] if isinstance(found, list) else []


def hide_columns(user: Any, page: str, places: list[int]) -> None:
    """Show all but these. InvalidInput: no such list or column."""
    known = _known(page)
    if not set(places) <= set(known):
        raise InvalidInput("This list has no such column.", remedy="Choose columns of the list.")
    PersonSetting.objects.update_or_create(user=user, key=f"columns:{page}", defaults={"value": sorted(set(places))})


def saved_views(chosen: Mapping[str, Any], page: str) -> list[tuple[str, str]]:
    """(name, query of its address) of a list's views, by name."""
    begin = f"view:{page}:"
    return sorted((key.removeprefix(begin), str(value)) for key, value in chosen.items() if key.startswith(begin))


def save_view(user: Any, page: str, name: str, query: str) -> None:
    """Keep the filters of a list under a name; one of that name is replaced. InvalidInput for what cannot be kept."""
    _known(page)
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME:
        raise InvalidInput(f"A view needs a name of at most {_LONGEST_NAME} characters.", remedy="Name it.")
    if len(query) > _LONGEST_QUERY:
        raise InvalidInput("The filters are too long to be kept.", remedy="Shorten them.")
    key = f"view:{page}:{name}"
    others = PersonSetting.objects.filter(user=user, key__startswith="view:").exclude(key=key)
    if others.count() >= _MOST_VIEWS:
        raise InvalidInput(f"You have {_MOST_VIEWS} saved views.", remedy="Delete one first.")
    PersonSetting.objects.update_or_create(user=user, key=key, defaults={"value": query})


def delete_view(user: Any, page: str, name: str) -> None:
    """Forget it; nothing happens when there is none."""
    PersonSetting.objects.filter(user=user, key=f"view:{page}:{name}").delete()


def _known(page: str) -> dict[int, str]:
    if page not in LISTS:
        raise InvalidInput(f"There is no list '{page[:60]}'.", remedy=f"Lists are {', '.join(LISTS)}.")
    return LISTS[page]
