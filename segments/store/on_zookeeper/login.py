"""Who we are for a ZooKeeper, over TLS or not, and the access-control list that follows for every znode of ours."""

from __future__ import annotations

import logging
import socket
import ssl
from dataclasses import dataclass, field
from errno import ENOENT
from pathlib import Path
from typing import Any, Final

from kazoo.client import KazooClient
from kazoo.security import ACL, Id, Permissions, make_acl, make_digest_acl_credential

from segments.errors import InvalidInput, Unavailable
from segments.store import paths

#: A digest login, SASL with DIGEST-MD5, or the client's certificate.
DIGEST: Final = "digest"
SASL: Final = "sasl"
X509: Final = "x509"
#: Pinot's Java client reads these without any login to find a broker: which one serves which table, and its host and
#: port.
_READABLE: Final = paths.external_view("brokerResource")
_READABLE_BELOW: Final = f"{paths.PARTICIPANT_CONFIGS}/Broker_"
_READ_BY_ALL: Final = make_acl("world", "anyone", read=True)
#: Seconds of the connection that finds out why there was none.
_LAST_TRY_S: Final = 2.0

#: kazoo writes every request to its log at DEBUG, the one with the password too.
_DISCREET: Final = logging.getLogger("kazoo.discreet")
_DISCREET.setLevel(logging.WARNING)


@dataclass(frozen=True)
class ZooKeeperLogin:
    """How a connection proves itself, and which files it needs for TLS (``ca`` empty: the system's authorities).

    Without a ``scheme`` whatever we create is open to everybody, as ZooKeeper has it by default.
    """

    scheme: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    tls: bool = False
    ca: str = ""
    certificate: str = ""
    key: str = ""
    #: Do not check the server's certificate.
    insecure: bool = False

    @property
    def identity(self) -> str:
        """Whose the znodes are that this login creates; empty: everybody's."""
        if self.scheme == DIGEST:
            return f"{DIGEST}:{make_digest_acl_credential(self.user, self.password)}"
        return f"{self.scheme}:{self.user or self.certificate}" if self.scheme else ""

    @property
    def text(self) -> str:
        """As ``parse_login`` reads it, with the password; empty without a scheme."""
        return f"{self.scheme}:{self.user}:{self.password}" if self.user else self.scheme

    def acl(self, path: str) -> list[ACL] | None:
        """Of the znode at ``path`` (relative to the cluster's root); None: ZooKeeper's default, open."""
        own = self._own()
        if own is None:
            return None
        is_readable = path == _READABLE or path.startswith(_READABLE_BELOW)
        return [own, _READ_BY_ALL] if is_readable else [own]

    def _own(self) -> ACL | None:
        if not self.scheme:
            return None
        if self.scheme == DIGEST:
            return ACL(Permissions.ALL, Id(DIGEST, make_digest_acl_credential(self.user, self.password)))
        # The server writes the name under which it knows the connection.
        return ACL(Permissions.ALL, Id("auth", ""))

    def client_options(self) -> dict[str, Any]:
        """Keyword arguments of KazooClient."""
        options: dict[str, Any] = {"logger": _DISCREET}
        if self.scheme == DIGEST:
            options["auth_data"] = [(DIGEST, f"{self.user}:{self.password}")]
        if (acl := self.acl("/")) is not None:
            options["default_acl"] = acl
        if self.tls:
            options |= {"use_ssl": True, "verify_certs": not self.insecure, "check_hostname": not self.insecure}
            options |= {name: file for name, file in self._files().items() if file}
        return options

    def _files(self) -> dict[str, str]:
        return {"ca": self.ca, "certfile": self.certificate, "keyfile": self.key or self.certificate}

    def explain(self, hosts: str, seconds: float) -> Unavailable:
        """Why no session came about within ``seconds``, as far as one more connection to the first of
        ``hosts`` names.
        """
        host, _, port = hosts.partition(",")[0].partition("/")[0].rpartition(":")
        try:
            with socket.create_connection((host, int(port)), _LAST_TRY_S) as plain:
                if self.tls:
                    self._context().wrap_socket(plain, server_hostname=host).close()
        except ssl.SSLError as error:
            text = f"ZooKeeper at {hosts} and we do not agree on TLS: {error.reason or error}"
            return Unavailable(
                f"{text} (certificate of {host}).",
                remedy="Check the authorities' file, and that this is its secure port.",
            )
        except FileNotFoundError as error:
            return Unavailable(
                f"A file for TLS to ZooKeeper is missing: {error.filename}.", remedy="Name one that is there."
            )
        except (OSError, ValueError):
            return Unavailable(
                f"ZooKeeper at {hosts} did not answer within {seconds:g} s.", remedy="Start it, or correct the address."
            )
        if self.scheme == SASL:
            return Unavailable(
                f"ZooKeeper at {hosts} refused the login of '{self.user}' by SASL.", remedy="Correct user or password."
            )
        return Unavailable(
            f"ZooKeeper at {hosts} gave no session within {seconds:g} s.",
            remedy="See its log; it may want TLS, or a certificate.",
        )

    def ask_over_tls(self, client: KazooClient, word: bytes) -> str:
        """What the server to which ``client`` is connected says to a four-letter ``word``; kazoo's ``command`` knows no
        TLS. OSError.
        """
        known = client._connection._socket
        with (
            socket.create_connection(known.getpeername()[:2], _LAST_TRY_S) as plain,
            self._context().wrap_socket(plain, server_hostname=known.server_hostname) as connection,
        ):
            connection.sendall(word)
            return connection.recv(8192).decode("utf-8", "replace")

    def _context(self) -> ssl.SSLContext:
        if self.ca and not Path(self.ca).is_file():
            raise FileNotFoundError(ENOENT, "missing", self.ca)
        if self.certificate and not Path(self.certificate).is_file():
            raise FileNotFoundError(ENOENT, "missing", self.certificate)
        context = ssl.create_default_context(cafile=self.ca or None)
        if self.insecure:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if self.certificate:
            context.load_cert_chain(self.certificate, self.key or None)
        return context

    def sasl_options(self) -> dict[str, str] | None:
        """Of one kazoo connection, which adds to them; None: no SASL."""
        if self.scheme != SASL:
            return None
        return {"mechanism": "DIGEST-MD5", "username": self.user, "password": self.password}


def parse_login(text: str, **tls: Any) -> ZooKeeperLogin:
    """``digest:USER:PASSWORD``, ``sasl:USER:PASSWORD``, ``x509`` or nothing; ``tls``: the other fields of
    ZooKeeperLogin.

    InvalidInput, which never repeats the text, for anything else.
    """
    scheme, _, rest = text.partition(":")
    user, _, password = rest.partition(":")
    if text in ("", X509) or (scheme in (DIGEST, SASL) and user and password):
        login = ZooKeeperLogin(scheme, user, password, **tls)
        if login.scheme == X509 and not (login.tls and login.certificate):
            raise InvalidInput(
                "A login by certificate needs TLS and the file of a certificate.",
                remedy="Name them, or use a password.",
            )
        return login
    raise InvalidInput(
        "A login for ZooKeeper has a form that is not known.",
        remedy="Use digest:USER:PASSWORD, sasl:USER:PASSWORD (DIGEST-MD5) or x509.",
    )
