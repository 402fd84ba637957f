"""The table of rules of each kind of round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from segments.domain.realtime.completion.machine import PAUSELESS, STANDARD
from segments.domain.realtime.completion.pauseless_rules import PAUSELESS_TABLE
from segments.domain.realtime.completion.rules import STANDARD_TABLE, Table

TABLES: Final[Mapping[str, Table]] = {STANDARD: STANDARD_TABLE, PAUSELESS: PAUSELESS_TABLE}
