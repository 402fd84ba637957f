"""SQL to a real Pinot: to a broker where its address is known, else through the controller's ``/sql``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class SqlBroker(Protocol):
    """What a query page needs of a broker; the embedded one has the same method."""

    def query(self, sql: str, options: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Pinot's broker response; what goes wrong in the query is in its ``exceptions``."""


class PinotBroker:
    """SQL to one cluster."""

    def query(self, sql: str, options: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Pinot's broker response. ControllerFault when nobody answers, PinotRefused for what is no answer of a broker."""
        raise NotImplementedError
