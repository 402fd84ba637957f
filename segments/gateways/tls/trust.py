"""Whom a part believes when it calls another one over TLS: who has a certificate for the very host that is called,
signed by the cluster's own authorities.
"""

from __future__ import annotations

import ssl
from functools import cached_property
from typing import Final

from segments.errors import InvalidInput

#: The setting that names the file.
CA: Final = "PINOTADMIN_TLS_CA"


class Trust:
    """``authorities``: a PEM file with their certificates; empty: nobody is believed. Safe between threads."""

    def __init__(self, authorities: str = "") -> None:
        self.authorities = authorities

    @cached_property
    def context(self) -> ssl.SSLContext:
        """For connections that we open: names are checked. InvalidInput for a file that holds no certificates."""
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.authorities:
            try:
                made.load_verify_locations(self.authorities)
            except OSError as error:  # of TLS, too
                why = getattr(error, "reason", "") or error.strerror
                raise InvalidInput(
                    f"{CA} names {self.authorities}, which cannot be read as certificates: {why}.",
                    remedy="Name the PEM file of the authorities that signed the parts' certificates.",
                ) from error
        return made

    def why(self, error: BaseException) -> str:
        """Why a call failed, in words without a full stop: as far as that was for TLS; else what ``error`` says."""
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ssl.SSLError):
            cause = cause.__cause__ or cause.__context__
        if isinstance(cause, ssl.SSLCertVerificationError):
            if not self.authorities:
                return f"its certificate cannot be checked, because {CA} is not set"
            return f"its certificate is not accepted: {cause.verify_message.rstrip('.')} ({CA} is {self.authorities})"
        if cause is None:
            return str(error).rstrip(".")
        return f"it speaks no TLS that we understand ({cause.reason or cause})"
