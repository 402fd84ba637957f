"""Moments as the console and the logs write them, down to the second."""

from __future__ import annotations

from typing import Final

DATE_FORMAT: Final = "Y-m-d"
SHORT_DATE_FORMAT: Final = "Y-m-d"
DATETIME_FORMAT: Final = "Y-m-d H:i:s"
SHORT_DATETIME_FORMAT: Final = "Y-m-d H:i:s"
TIME_FORMAT: Final = "H:i:s"
