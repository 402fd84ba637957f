"""What a request that is passed on to a real Pinot may need: which right, for which table; and which are never passed
on.

Pinot changes things by GET here and there (a table's ``state``, its servers' commit protocol), and reveals secrets to
who may read: users, settings of the process, raw znodes. So reading is for readers only where a path is known to be
harmless; all else is for those who may administer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote

from segments.errors import Forbidden, InvalidInput

_LONGEST: Final = 2000
_READS: Final = ("GET", "HEAD", "OPTIONS")
#: First parts of paths whose GETs change nothing and reveal no secrets.
_HARMLESS: Final = frozenset(
    {
        "tables",
        "segments",
        "schemas",
        "tableConfigs",
        "instances",
        "tenants",
        "brokers",
        "version",
        "health",
        "leader",
        "tasks",
        "cluster",
        "debug",
        "periodictask",
    }
)
#: What servers and controllers say to one another about a commit; a stray message can lose rows.
_PROTOCOL: Final = frozenset(
    {
        "segmentConsumed",
        "segmentStoppedConsuming",
        "segmentCommit",
        "segmentCommitStart",
        "segmentUpload",
        "segmentCommitUpload",
        "segmentCommitEnd",
        "segmentCommitEndWithMetadata",
        "extendBuildTime",
        "segmentBuildDeterministicFailure",
        "reduceSegmentSizeAndReset",
    }
)
_OF_TABLES: Final = ("tables", "segments", "schemas", "tableConfigs")
#: Second parts that are no table's name.
_NO_TABLE: Final = frozenset({
    "validate", "validateTableAndSchema", "forceCommitStatus", "batchUpload", "reingested", "recommender", "rebalance",
})  # fmt: skip
#: Last parts of changes of a table that need ``operate`` only, as they do on the own cluster.
_OPERATE: Final = frozenset(
    {
        "reset",
        "reload",
        "pauseConsumption",
        "resumeConsumption",
        "pauseTopicConsumption",
        "resumeTopicConsumption",
        "forceCommit",
        "uploadFromServerToDeepstore",
    }
)
_CHECKS: Final = (
    ("tables", "validate"),
    ("schemas", "validate"),
    ("tableConfigs", "validate"),
    ("tables", "validateTableAndSchema"),
)


@dataclass(frozen=True)
class Needed:
    """``right`` that a request needs, for ``table`` (raw or typed; None: for the cluster as a whole)."""

    right: Literal["read", "operate", "administer"]
    table: str | None


def check_path(path: str) -> list[str]:
    """The parts of a decoded path without its leading slash. InvalidInput for what could lead elsewhere
    than it says.
    """
    parts = path.split("/")
    if parts and parts[-1] == "":
        parts.pop()
    is_odd = any(p in ("", ".", "..") or p.startswith("..;") or not p.isprintable() or "\\" in p for p in parts)
    if not parts or is_odd or len(path) > _LONGEST:
        raise InvalidInput(
            f"'/{path[:200]}' is not a path of Pinot's REST API.", remedy="Leave out '.', '..' and empty parts."
        )
    if parts[0] in _PROTOCOL:
        raise Forbidden(
            f"'/{parts[0]}' is what Pinot's servers say to their controller; it is not passed on.",
            remedy="Ask Pinot itself.",
        )
    return parts


def quoted_path(parts: Sequence[str]) -> str:
    """The path to send: every part quoted whole, so that it stays one part."""
    return "/" + "/".join(quote(p, safe="") for p in parts)


def needed(method: str, parts: Sequence[str], params: Collection[str]) -> Needed:
    """What a request needs. ``params`` are the names of its parameters."""
    table = parts[1] if parts[0] in _OF_TABLES and len(parts) > 1 and parts[1] not in _NO_TABLE else None
    if method in _READS:
        return Needed(_right_of_read(parts, params), table)
    if tuple(parts) in _CHECKS:
        return Needed("read", None)
    if table is not None and parts[-1] in _OPERATE and len(parts) > 2:
        return Needed("operate", table)
    if tuple(parts) == ("periodictask", "run") or (parts[0] == "instances" and parts[-1] == "state"):
        return Needed("operate", None)
    return Needed("administer", table)


def _right_of_read(parts: Sequence[str], params: Collection[str]) -> Literal["read", "operate", "administer"]:
    if tuple(parts) == ("periodictask", "run"):
        return "operate"
    is_toggle = "state" in params and parts[0] in ("tables", "segments", "instances", "tasks")
    return "read" if parts[0] in _HARMLESS and not is_toggle else "administer"
