"""The certificate that a part shows to those who call it over TLS. When its files are replaced, connections that begin
afterwards get the new one.
"""

from __future__ import annotations

import logging
import ssl
import time
from pathlib import Path
from typing import Any, Final

from segments.errors import InvalidInput
from segments.gateways.tls.trust import CA, Trust

log = logging.getLogger(__name__)

#: The settings that name the files.
CERTIFICATE: Final = "PINOTADMIN_TLS_CERTIFICATE"
KEY: Final = "PINOTADMIN_TLS_KEY"
#: More than a handshake has.
_STEPS: Final = 10


class Certificate:
    """``file``: PEM, with those between it and the authority behind it; ``key``: PEM, empty: in ``file``, too."""

    def __init__(self, file: str, key: str = "") -> None:
        self.file, self.key = file, key or file
        self._read: tuple[object, ...] = ()
        self._latest: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext:
        """For a socket that listens. InvalidInput for files that are no certificate and its key."""
        self._read, self._latest = self._marks(), self._load()
        self._latest.sni_callback = self._choose
        return self._latest

    def check(self, host: str, trust: Trust) -> float:
        """Seconds until it ends. InvalidInput unless others that have ``trust`` believe that it is of ``host``."""
        if not trust.authorities:
            raise InvalidInput(
                f"{CERTIFICATE} is set and {CA} is not, so no part could check the certificates of others.",
                remedy=f"Set {CA} to the PEM file of the authorities that sign the parts' certificates.",
            )
        try:
            shown = _shown_in_a_handshake(self._load(), trust.context, host)
        except ssl.SSLCertVerificationError as error:
            raise InvalidInput(
                f"The certificate in {self.file} ({CERTIFICATE}) is not accepted for {host} with the authorities in "
                f"{trust.authorities} ({CA}): {error.verify_message.rstrip('.')}.",
                remedy=f"Get one that is signed by them, is valid now, and names {host} as an alternative name.",
            ) from error
        except ssl.SSLError as error:
            raise self._problem(error) from error
        return ssl.cert_time_to_seconds(str(shown["notAfter"])) - time.time()

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        """At the begin of every handshake. What cannot be read changes nothing until it is replaced again."""
        marks = self._marks()
        if marks != self._read:
            self._read = marks
            try:
                self._latest = self._load()
                log.warning("New connections get the certificate that is in %s now.", self.file)
            except InvalidInput as error:
                log.warning("New connections get the certificate of before: %s", error)
        if self._latest is not None:
            connection.context = self._latest

    def _marks(self) -> tuple[object, ...]:
        """What changes when a file is replaced."""
        found = []
        for name in (self.file, self.key):
            try:
                status = Path(name).stat()
                found.append((status.st_ino, status.st_mtime_ns, status.st_size))
            except OSError:
                found.append((0, 0, 0))
        return tuple(found)

    def _load(self) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        # Tickets for a next connection would come before the answer, and look like its beginning to who waits for one.
        made.num_tickets = 0
        try:
            made.load_cert_chain(self.file, self.key, password=lambda: b"")  # without one it would ask at the terminal
        except OSError as error:  # of TLS, too
            raise self._problem(error) from error
        return made

    def _problem(self, error: OSError) -> InvalidInput:
        for setting, name in ((CERTIFICATE, self.file), (KEY, self.key)):
            try:
                Path(name).read_bytes()
            except OSError as missing:
                return InvalidInput(
                    f"{setting} names {name}, which cannot be read: {missing.strerror}.", remedy="Correct it."
                )
        return InvalidInput(
            f"{self.file} ({CERTIFICATE}) and {self.key} ({KEY}) are not a certificate and its key: "
            f"{getattr(error, 'reason', '') or error}.",
            remedy="Name PEM files that belong together, the key without a password.",
        )


def _shown_in_a_handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> dict[str, Any]:
    """The certificate of ``server`` as ``client`` accepts it, by a handshake in memory. SSLError when it does not."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(to_client, to_server, server_hostname=host)
    answering = server.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(_STEPS):
        waiting = False
        for side in (asking, answering):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                waiting = True
        if not waiting:
            break
    return asking.getpeercert() or {}
