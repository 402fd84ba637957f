"""How a Pinot cluster is reached: addresses, credentials, TLS, times. Values only; none of them prints a secret."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Credentials:
    """``kind`` is "", "basic" (user and secret) or "bearer" (secret)."""

    kind: str = ""
    user: str = ""
    secret: str = field(default="", repr=False)


@dataclass(frozen=True)
class Tls:
    """Files as paths; ``is_insecure``: certificates are not checked."""

    ca: str = ""
    cert: str = ""
    key: str = ""
    is_insecure: bool = False


@dataclass(frozen=True)
class Connection:
    """``urls`` are tried in turn. ``cluster`` is the name that the controller must say it belongs to; empty: the one
    that it says first.

    Times in seconds: ``connect_s`` until a connection stands, ``read_s`` until a read is answered, ``write_s`` until a
    change is.
    """

    name: str
    urls: tuple[str, ...]
    cluster: str = ""
    #: False for a broker, which cannot be asked which cluster it belongs to.
    is_controller: bool = True
    #: Called when a client is opened, and again after they were refused. May raise ControllerFault.
    credentials: Callable[[], Credentials] = Credentials
    tls: Tls = Tls()
    connect_s: float = 3.0
    read_s: float = 15.0
    write_s: float = 60.0
