"""Every route of a server's HTTP port, and who may use it. There is no other way to make one: what is not in this table
does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Need(StrEnum):
    """Who may use a route. A process of the cluster may use every route; the values below say who else."""

    #: Everybody, without credentials.
    OPEN = "open"
    #: Nobody else.
    CLUSTER = "cluster"
    #: Any user; the route itself leaves out what the user may not read.
    LOGIN = "login"
    #: Users with the right to read the table of the path, or without one the cluster as a whole.
    READ = "read"
    #: Users with the right to operate the table of the path: the route changes something or hands segments out.
    OPERATE = "operate"


#: The endpoint that an operator may open to everybody.
METRICS: Final = "metrics"
#: Bytes of a body where none is needed, and of one that names segments.
_NO_BODY: Final = 64 << 10
_MANY_NAMES: Final = 64 << 20


@dataclass(frozen=True)
class ServerRoute:
    """A method and path (Starlette's pattern), who may use it, the endpoint's name in ``endpoints.Endpoints``, and the
    most bytes of its body. ``{table}`` is the table whose rights are checked, or that of a consumed ``{segment}``.
    """

    method: str
    path: str
    need: Need
    endpoint: str
    max_body: int = _NO_BODY


ROUTES: Final = (
    # A schema comes with a query and is kept, so only who plans queries may send them; people ask the broker.
    ServerRoute("POST", "/query", Need.CLUSTER, "query", _MANY_NAMES),
    ServerRoute("DELETE", "/query/{query}", Need.CLUSTER, "cancel_query"),
    ServerRoute("GET", "/health", Need.OPEN, "health"),
    ServerRoute("GET", "/health/readiness", Need.OPEN, "health"),
    ServerRoute("GET", "/health/liveness", Need.OPEN, "liveness"),
    ServerRoute("POST", "/tables/{table}/segments/profile", Need.CLUSTER, "profile", _MANY_NAMES),
    # Before the route that takes its last word for a segment.
    ServerRoute("GET", "/tables/{table}/segments/crc", Need.READ, "crcs"),
    # These hand out a table's files, or have them packed and put into the deep store.
    ServerRoute("GET", "/segments/{table}/{segment}", Need.OPERATE, "tar"),
    ServerRoute("GET", "/tables/{table}/segments/{segment}", Need.OPERATE, "tar"),
    ServerRoute("POST", "/segments/{table}/{segment}/upload", Need.OPERATE, "upload"),
    ServerRoute("POST", "/segments/{table}/{segment}/uploadLLCSegment", Need.OPERATE, "upload_short"),
    ServerRoute("POST", "/segments/{table}/{segment}/uploadCommittedSegment", Need.OPERATE, "upload_record"),
    # The segment's name says its table.
    ServerRoute("GET", "/reingestSegment/jobs", Need.READ, "reingestions"),
    ServerRoute("POST", "/reingestSegment/{segment}", Need.OPERATE, "reingest"),
    ServerRoute("GET", "/tables", Need.LOGIN, "tables"),
    ServerRoute("GET", "/tables/{table}/consumingSegmentsInfo", Need.READ, "consuming_info"),
    ServerRoute("GET", "/tables/{table}/consumers", Need.READ, "consumers"),
    ServerRoute("GET", "/tables/{table}/partitions/{partition}/segmentLives", Need.READ, "segment_lives"),
    ServerRoute("GET", "/tables/{table}/segments", Need.READ, "segments"),
    ServerRoute("GET", "/tables/{table}/segments/{segment}/metadata", Need.READ, "metadata"),
    ServerRoute("GET", "/tables/{table}/size", Need.READ, "size"),
    ServerRoute("GET", "/tables/{table}/errors", Need.READ, "errors"),
    ServerRoute("GET", "/instance/diskUtilization", Need.READ, "disk"),
    ServerRoute("GET", "/metrics", Need.READ, METRICS),
)
