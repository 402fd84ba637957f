"""Where servers can fetch a table's segments besides the deep store: from one another, and what its config must say for
that. Pure.
"""

from __future__ import annotations

from typing import Final

from segments.domain.tables.table_config import TableConfig
from segments.domain.upkeep.findings import Found
from segments.errors import InvalidInput
from segments.names import REALTIME

HTTP: Final = "http"
HTTPS: Final = "https"
_SPOKEN: Final = (HTTP, HTTPS)
_KEY: Final = "peerSegmentDownloadScheme"


def speaks(scheme: str | None) -> bool:
    """Is it a scheme by which servers give segments to one another?"""
    return scheme in _SPOKEN


def peers_serve(config: TableConfig) -> bool:
    """May servers fetch the table's segments from one another? A scheme that they do not speak counts as none."""
    return speaks(config.peer_scheme)


def check_peer_scheme(config: TableConfig, *, have_tls: bool = False) -> None:
    """``peerSegmentDownloadScheme``: http (over whatever servers speak) or, where servers ``have_tls``, https (over TLS
    alone), and somebody to download from. For tables of both types. Raises InvalidInput.
    """
    scheme = config.peer_scheme
    if scheme is None:
        return
    if scheme == HTTPS and not have_tls:
        raise InvalidInput(
            f"'{_KEY}' of table '{config.table}' is https, but servers of this cluster do not speak TLS with one "
            "another.",
            remedy="Use http: requests and answers between servers are signed. Or set PINOTADMIN_TLS_CERTIFICATE.",
        )
    if not speaks(scheme):
        raise InvalidInput(f"'{_KEY}' of table '{config.table}' must be http, not '{scheme}'.", remedy="Use http.")
    if config.replication < 2:
        raise InvalidInput(
            f"'{_KEY}' of table '{config.table}' can't be used when replication is < 2.",
            remedy="Raise segmentsConfig.replication, or remove the scheme.",
        )


def check_has_place(config: TableConfig, *, has_deep_store: bool, have_tls: bool = False) -> None:
    """Can what a REALTIME table consumes ever be committed? Raises InvalidInput."""
    is_spoken = config.peer_scheme == HTTP or (config.peer_scheme == HTTPS and have_tls)
    if not has_deep_store and config.table.type == REALTIME and not is_spoken:
        raise InvalidInput(
            f"This installation has no deep store, so segments of table '{config.table}' live on servers only: "
            f"it needs '{_KEY}'.",
            remedy=f"Set segmentsConfig.{_KEY} to http and segmentsConfig.replication to 2 or more.",
        )


def place_findings(config: TableConfig, *, has_deep_store: bool, have_tls: bool = False) -> list[Found]:
    """What is wrong with a table that was made before it was refused, or before the deep store or the servers' TLS
    went.
    """
    found = []
    if config.peer_scheme not in (None, HTTP) and not (config.peer_scheme == HTTPS and have_tls):
        text = (
            f"'{_KEY}' is {config.peer_scheme}, which servers do not speak: they fetch nothing of this table from "
            "one another. Use http."
        )
        found.append(Found("peer-scheme", "", "error", text))
    try:
        check_has_place(config, has_deep_store=has_deep_store, have_tls=have_tls)
    except InvalidInput as error:
        found.append(Found("no-place", "", "error", f"{error.message} Until then it is not committed. {error.remedy}"))
    return found
