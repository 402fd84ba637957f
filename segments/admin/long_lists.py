"""Lists of very many rows: a search that goes through them once, and filters that do not go through them at all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from django.contrib.admin import SimpleListFilter
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest

#: Keys of so many matches are kept for counting and cutting them.
_KEPT: Final = 10_000


class OncePaginator(Paginator):  # type: ignore[type-arg]
    """Counts what was searched for by fetching its keys, and takes the page's rows by them: Django's own goes through
    all rows once to count the matches and again to find those of the page.
    """

    @cached_property
    def count(self) -> int:
        """Exact, also where there are more matches than keys are kept."""
        return len(self._keys) if self._has_all else int(self._all.count())

    def page(self, number: int | str) -> Page[Any]:
        """The page's rows, in the list's order."""
        if not self._has_all:
            return super().page(number)
        valid = self.validate_number(number)
        keys = self._keys[(valid - 1) * self.per_page : valid * self.per_page]
        return Page(self._all.filter(pk__in=keys), valid, self)

    @property
    def _all(self) -> QuerySet[Any]:
        return self.object_list  # type: ignore[return-value]  # the admin gives a queryset

    @property
    def _has_all(self) -> bool:
        """Rows that nothing filters are counted faster than they are fetched."""
        return bool(self._all.query.where) and len(self._keys) <= _KEPT

    @cached_property
    def _keys(self) -> list[Any]:
        return list(self._all.values_list("pk", flat=True)[: _KEPT + 1])


def fixed_choices(field: str, *values: str) -> type[SimpleListFilter]:
    """A filter by a column whose values are known: Django's own looks for them in all rows."""

    class Fixed(SimpleListFilter):
        title = field
        parameter_name = field

        def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, str]]:
            return [(value, value) for value in values]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            return queryset.filter(**{field: self.value()}) if self.value() in values else queryset

    return Fixed
