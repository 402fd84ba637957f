"""Lines of the log, tracebacks included, without the passwords of addresses and logins that libraries write into
theirs.
"""

from __future__ import annotations

import logging

from segments.secret_texts import mask_text


class WithoutSecrets(logging.Formatter):
    """As the standard formatter; see ``segments.secret_texts`` for what is masked."""

    def format(self, record: logging.LogRecord) -> str:
        """The whole text of one record."""
        return mask_text(super().format(record))
