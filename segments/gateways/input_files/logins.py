"""Logins to object stores that the administrator keeps in a file, and configs of tables name."""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from segments.domain.push.file_system import check_login, kind_of_class
from segments.domain.push.store_uri import stores_of
from segments.errors import InvalidInput, Unavailable

_CONFIGURED: Final = "PINOTADMIN_INPUT_LOGINS"
_LONGEST: Final = 1 << 20


@dataclass(frozen=True)
class Login:
    """``roots``: the addresses that it may be used for; ``tables``: patterns of raw table names that may name it."""

    roots: tuple[str, ...]
    tables: tuple[str, ...]
    properties: Mapping[str, str] = field(repr=False)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The properties, sorted."""
        return tuple(sorted(self.properties.items()))


def find_login(path: str, name: str, scheme: str, table: str) -> Login:
    """The login of this name. The refusal is the same for one that is not there, for another scheme, or for other
    tables: InvalidInput. Raises Unavailable when the file cannot be read.
    """
    kind, login = _logins(path).get(name, ("", None))
    is_for_table = login is not None and any(fnmatch.fnmatchcase(table, pattern) for pattern in login.tables)
    if login is None or kind != scheme or not is_for_table:
        raise InvalidInput(
            f"There is no login {name[:100]!r} to {scheme} for table '{table}'.",
            remedy=f"Have the administrator add it ({_CONFIGURED}), or correct the name.",
            field="input.fs.prop.login",
        )
    return login


def login_names(path: str) -> list[str]:
    """What they are called. Raises InvalidInput or Unavailable when the file cannot be read."""
    return sorted(_logins(path))


def read_logins(text: str) -> dict[str, tuple[str, Login]]:
    """{name: (scheme, login)} of a file's text: JSON, by name an object with ``className``, ``roots``, ``tables``
    (none: all) and Pinot's properties. Raises InvalidInput, which repeats no value.
    """
    try:
        body = json.loads(text)
        return {str(name): _login(entry) for name, entry in body.items()}
    except InvalidInput as error:
        raise InvalidInput(f"{_CONFIGURED}: {error.message}", remedy=error.remedy) from error
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise InvalidInput(
            f"The file of {_CONFIGURED} does not read: {type(error).__name__}.",
            remedy='Write {"NAME": {"className": "...S3PinotFS", "roots": ["s3://bucket/prefix"], "accessKey": ...}}.',
        ) from None


def _login(entry: Mapping[str, Any]) -> tuple[str, Login]:
    properties = dict(entry)
    kind = kind_of_class(str(properties.pop("className")))
    roots, tables = tuple(properties.pop("roots")), tuple(properties.pop("tables", ("*",)))
    if kind in (None, "file") or not all(uri.scheme == kind for uri in stores_of(roots)):
        raise InvalidInput("className and roots of a login must be of one kind.", remedy="Correct them.")
    assert kind is not None
    check_login(kind, properties)
    return kind, Login(roots, tables, properties)


def _logins(path: str) -> dict[str, tuple[str, Login]]:
    """Read again when the file changes: a login can be replaced while everything runs."""
    if not path:
        return {}
    try:
        found = os.stat(path)
        return _read(path, found.st_mtime_ns, found.st_size)
    except OSError as error:
        raise Unavailable(
            f"The file of {_CONFIGURED} cannot be read: {error.strerror}.", remedy="Check the setting."
        ) from error


@lru_cache(maxsize=4)
def _read(path: str, mtime_ns: int, size: int) -> dict[str, tuple[str, Login]]:
    with open(path, encoding="utf-8") as file:
        return read_logins(file.read(_LONGEST))
