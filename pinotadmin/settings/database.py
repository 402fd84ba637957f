"""What Django needs to know of the database that an address names."""

from __future__ import annotations

import os
import tempfile
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pinotadmin.configuration.setting_texts import WrongText

#: Parameters of a PostgreSQL address that are passed on; libpq knows what they mean.
_POSTGRESQL_OPTIONS: Final = frozenset(
    [
        "sslmode",
        "sslcert",
        "sslkey",
        "sslrootcert",
        "sslcrl",
        "sslnegotiation",
        "channel_binding",
        "gssencmode",
        "target_session_attrs",
        "connect_timeout",
        "keepalives",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
        "tcp_user_timeout",
        "application_name",
        "options",
        "service",
        "passfile",
    ]
)


def database(url: str) -> dict[str, object]:
    """An entry of DATABASES for ``sqlite:///FILE`` or ``postgresql://USER:PASSWORD@HOST:PORT/NAME?sslmode=…``.

    Raises WrongText for another scheme, and for a parameter that libpq does not know.
    """
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return _sqlite(parts)
    if parts.scheme in ("postgres", "postgresql"):
        return _postgresql(parts)
    raise WrongText(f"an address that begins with sqlite:// or postgresql://, not with {parts.scheme[:20]}://")


def _sqlite(parts: SplitResult) -> dict[str, object]:
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": unquote(parts.path) if parts.path else ":memory:",
        # A file also in tests: threads that share an in-memory database lock one another out.
        "TEST": {"NAME": os.path.join(tempfile.gettempdir(), f"pinotadmin-test-{os.getpid()}.sqlite3")},
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    }


def _postgresql(parts: SplitResult) -> dict[str, object]:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    # As libpq has it: a folder of sockets, or several hosts, do not fit into the address' own place.
    host, port = options.pop("host", parts.hostname or ""), options.pop("port", None)
    if odd := sorted(options.keys() - _POSTGRESQL_OPTIONS):
        known = ", ".join(sorted(_POSTGRESQL_OPTIONS))
        raise WrongText(f"an address without the parameter {odd[0]}, which PostgreSQL does not know. It knows {known}")
    # A host that is gone answers nothing at all: seconds to connect, milliseconds for what was sent to be acknowledged.
    options = {"connect_timeout": "3", "tcp_user_timeout": "10000", **options}
    try:
        port = port or str(parts.port or "")
    except ValueError as error:
        raise WrongText(f"an address with a port from 0 to 65535 ({error})") from error
    return {
        "ENGINE": "pinotadmin.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": port,
        "OPTIONS": options,
    }
