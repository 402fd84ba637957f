"""Which events go to which receiver, and how a message that was not taken is sent again."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from segments.errors import InvalidInput

Severity = Literal["error", "warning"]
SEVERITIES: Final[tuple[Severity, ...]] = ("warning", "error")
#: Header with the signature: ``t=<epoch seconds>,v1=<hex HMAC-SHA256 of "t.body" with the receiver's secret>``.
SIGNATURE: Final = "X-Pinotadmin-Signature"
#: Seconds after a first, second ... failure; the last goes on until the message is too old.
_PAUSES_S: Final = (10, 30, 120, 600, 1800, 3600)
_LONGEST_S: Final = 86_400
#: Findings that one event lists; it counts all.
LISTED: Final = 20
_LONGEST_PATTERN: Final = 255


@dataclass(frozen=True)
class Wish:
    """What a receiver subscribes to: tables by a pattern of their typed or raw name (``sales_*``; ``*``: all, and what
    concerns no table), in one cluster or all (``*``), from this severity on.
    """

    tables: str = "*"
    cluster: str = "*"
    severity: Severity = "warning"

    def wants(self, cluster: str, table: str, severity: str) -> bool:
        """Is an event of this cluster and typed table (empty: none) for it?"""
        if self.severity == "error" and severity != "error":
            return False
        if self.cluster not in ("*", cluster):
            return False
        names = (table, table.rpartition("_")[0]) if table else ("",)
        return self.tables == "*" or any(name and fnmatchcase(name, self.tables) for name in names)


def check_wish(tables: str, cluster: str, severity: str) -> Wish:
    """The wish. InvalidInput that names the field."""
    if severity not in SEVERITIES:
        raise InvalidInput(
            f"'{severity[:40]}' is not a severity.", remedy="Use warning (both) or error.", field="severity"
        )
    for field, text in (("tables", tables), ("cluster", cluster)):
        if not text or len(text) > _LONGEST_PATTERN or not text.isprintable():
            raise InvalidInput(
                f"'{field}' must be 1 to {_LONGEST_PATTERN} printable characters.", remedy="Use * for all.", field=field
            )
    return Wish(tables, cluster, "error" if severity == "error" else "warning")


def sign(secret: str, body: bytes, epoch_s: int) -> str:
    """The value of ``SIGNATURE``."""
    digest = hmac.new(secret.encode(), b"%d." % epoch_s + body, hashlib.sha256).hexdigest()
    return f"t={epoch_s},v1={digest}"


def next_try_s(failures: int, age_s: float) -> float | None:
    """Seconds until the next try after so many failures of a message of this age; None: it is given up."""
    pause = _PAUSES_S[min(failures, len(_PAUSES_S)) - 1]
    return pause if age_s + pause <= _LONGEST_S else None


def event_of(event_id: str, what: str, findings: list[dict[str, Any]], *, of: dict[str, str]) -> dict[str, Any]:
    """The message about findings of one kind, cluster and table that were opened or closed together."""
    first = findings[0]["message"] if findings else ""
    more = f" And {len(findings) - 1} more." if len(findings) > 1 else ""
    return {
        "id": event_id,
        "event": what,
        **of,
        "count": len(findings),
        "message": f"{first}{more}",
        "findings": findings[:LISTED],
    }
