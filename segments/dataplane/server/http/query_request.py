"""What a broker asks of a server, read once from JSON with every type checked."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from segments.domain.tables.time_boundary import TimeFilter, parse_time_filter
from segments.errors import InvalidInput

Count = Annotated[int, msgspec.Meta(ge=0)]


class QueryRequest(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """``table`` is typed. ``schema_version``: zxid of the schema that the broker planned with (0: the one in
    ZooKeeper), ``request_id``: by which it can be cancelled, ``schema``: that schema's JSON, sent when this server
    answered that it does not know the version; ``options`` are the query's (``now``); ``time_filter`` is this table's
    share of a hybrid table; ``min_docs``: rows that consuming segments must have; ``tails``: segments whose rows beyond
    their end belong to the answer too, and how many of those it must have; ``insists``: a server that does not have
    them refuses, because another one may; ``rows``: so many at most instead of the statement's LIMIT; ``is_alone``:
    of a table of keys, which row of each counts is decided among these segments alone.
    """

    sql: str
    table: str
    segments: tuple[str, ...]
    schema_version: Count = 0
    options: dict[str, str] | None = None
    schema: dict[str, Any] | None = None
    request_id: str = ""
    time_filter: dict[str, Any] | None = None
    min_docs: dict[str, Count] | None = None
    tails: dict[str, Count] | None = None
    insists: bool = False
    rows: Count | None = None
    is_alone: bool = False

    @property
    def filter(self) -> TimeFilter | None:
        """``time_filter``, checked. InvalidInput."""
        return parse_time_filter(self.time_filter) if self.time_filter else None


_decoder = msgspec.json.Decoder(QueryRequest)


def read_query_request(body: bytes) -> QueryRequest:
    """InvalidInput, with the place, for what is no such request."""
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(
            f"The request is not a query: {error}.",
            remedy="A query has 'sql', 'table' (typed) and 'segments' (a list).",
        ) from error
