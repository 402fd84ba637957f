"""Cut a query into pages in the database, without counting what would be expensive to count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest

M = TypeVar("M", bound=Model)
R = TypeVar("R")

PAGE_SIZE: Final = 50
#: Nobody turns so many pages by hand; deeper offsets would only cost the database.
MOST_PAGES: Final = 2000
#: Matches are counted exactly up to here.
COUNTED: Final = 10_000


@dataclass(frozen=True)
class Listing(Generic[R]):
    """One page of rows. ``number`` starts at 1; ``total`` is None when it was not counted, ``is_capped`` when it is a
    lower bound.
    """

    rows: list[R]
    number: int
    has_next: bool
    total: int | None = None
    is_capped: bool = False

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    @property
    def first(self) -> int:
        """Position of the first row, from 1."""
        return (self.number - 1) * PAGE_SIZE + 1

    @property
    def last(self) -> int:
        """Position of the last row."""
        return self.first + len(self.rows) - 1


def asked(request: HttpRequest, *keys: str) -> dict[str, str]:
    """Filter parameters as text, trimmed, empty when absent; without NUL, which PostgreSQL refuses."""
    return {k: request.GET.get(k, "").replace("\0", "").strip() for k in keys}


def page_number(text: str | None) -> int:
    """The ``page`` parameter; anything odd is page 1."""
    return min(max(int(text), 1), MOST_PAGES) if text and text.isascii() and text.isdigit() else 1


def cut(query: QuerySet[M, Any], number: int, *, total: int | None = None) -> Listing[M]:
    """Fetch one page and one row more, which shows whether there is a next page. Counts at most ``COUNTED`` rows.

    Of the rows before a later page only keys are read, which an index has.
    """
    start = (number - 1) * PAGE_SIZE
    wanted = slice(start, start + PAGE_SIZE + 1)
    if number > 1:
        found = list(query.filter(pk__in=list(query.values_list("pk", flat=True)[wanted])))
    else:
        found = list(query[wanted])
    capped = False
    if total is None:
        if number == 1 and len(found) <= PAGE_SIZE:
            total = len(found)
        else:
            total = query.order_by()[: COUNTED + 1].count()
            capped, total = total > COUNTED, min(total, COUNTED)
    return Listing(found[:PAGE_SIZE], number, len(found) > PAGE_SIZE and number < MOST_PAGES, total, capped)


def cut_list(rows: Sequence[R], number: int) -> Listing[R]:
    """One page of what is in memory; a page beyond the last one is the last."""
    number = min(number, max(1, -(-len(rows) // PAGE_SIZE)))
    stop = number * PAGE_SIZE
    return Listing(list(rows[stop - PAGE_SIZE : stop]), number, stop < len(rows), len(rows))
