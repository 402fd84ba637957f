"""Builds the HTTP clients of a connection: credentials in a header, TLS as configured, no redirects, no proxies from
outside.
"""

from __future__ import annotations

import base64
import ssl
from pathlib import Path
from typing import Final

import httpx

from segments.gateways.pinot.connection import Connection, Credentials, Tls
from segments.gateways.pinot.refusals import UNTRUSTED, ControllerFault

#: Old controllers do not say what their task paths produce and would write maps as plain text, which fails with 500.
_ACCEPT: Final = {"Accept": "application/json, */*;q=0.1"}


def open_client(
    connection: Connection, *, keep_alive: bool, transport: httpx.BaseTransport | None = None
) -> httpx.Client:
    """A client for all addresses. ``keep_alive`` False: each request on a connection of its own, so that none is lost
    on one that the other side has just closed. ControllerFault when a TLS file or the secret cannot be used.
    ``transport`` is there for tests.
    """
    return httpx.Client(
        headers={**_ACCEPT, **authorization(connection.credentials())},
        verify=tls_context(connection.tls)
        if any(url.startswith("https:") for url in connection.urls)
        else _trusting_nobody(),
        timeout=httpx.Timeout(connection.read_s, connect=connection.connect_s),
        limits=httpx.Limits(
            max_connections=32, max_keepalive_connections=8 if keep_alive else 0, keepalive_expiry=15.0
        ),
        follow_redirects=False,
        trust_env=False,
        transport=transport,
    )


def authorization(credentials: Credentials) -> dict[str, str]:
    """The header that proves who we are."""
    match credentials.kind:
        case "basic":
            pair = f"{credentials.user}:{credentials.secret}".encode()
            return {"Authorization": "Basic " + base64.b64encode(pair).decode("ascii")}
        case "bearer":
            return {"Authorization": f"Bearer {credentials.secret}"}
    return {}


def _trusting_nobody() -> ssl.SSLContext:
    """For plain http, which is never redirected: reading the authorities of the machine costs tens of milliseconds."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Authorities of the machine or of ``tls.ca``, our own certificate, or no check at all where it was requested."""
    for file in filter(None, (tls.ca, tls.cert, tls.key)):
        if not Path(file).is_file():
            raise ControllerFault(UNTRUSTED, f"The TLS file {file} does not exist.", remedy="Correct the path.")
    try:
        context = ssl.create_default_context(cafile=tls.ca or None)
        if tls.is_insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if tls.cert:
            context.load_cert_chain(tls.cert, tls.key or None)
    except (ssl.SSLError, OSError) as error:
        text = f"The TLS files of the cluster cannot be used: {error}."
        raise ControllerFault(UNTRUSTED, text, remedy="They must be PEM, the key without a passphrase.") from error
    return context
