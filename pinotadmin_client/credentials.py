"""Where an installation is and who asks: given, from the environment, or from a file.

The file is JSON with ``url`` and ``token``, or the ``endpoints.json`` that a running installation writes. Only its
owner may read it. It, or PINOTADMIN_TLS_CA, may name the authorities that sign the installation's certificate.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import msgspec

from pinotadmin_client.errors import ClientError
from pinotadmin_client.prepared_types import prepared

URL: Final = "PINOTADMIN_URL"
TOKEN: Final = "PINOTADMIN_TOKEN"  # noqa: S105  # a name
FILE: Final = "PINOTADMIN_CREDENTIALS"
CA: Final = "PINOTADMIN_TLS_CA"


class NoCredentials(ClientError):
    """URL or token is missing, or cannot be read."""


@dataclass(frozen=True)
class Credentials:
    """``authorization`` is the value of the header; it stays out of repr and errors. ``authorities``: a PEM file with
    those that may sign the installation's certificate, besides the usual ones.
    """

    url: str
    authorization: str = field(repr=False)
    authorities: str = ""


def of_token(url: str, token: str) -> Credentials:
    """An API token."""
    return Credentials(url, f"Bearer {token}")


def of_user(url: str, user: str, password: str) -> Credentials:
    """A user and a password, as HTTP Basic."""
    return Credentials(url, "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())


def find(
    url: str = "",
    token_file: str = "",
    file: str = "",
    environment: Mapping[str, str] = os.environ,
    *,
    hint: str = "",
) -> Credentials:
    """What is given counts before the environment, the environment before the file. ``hint``: a sentence for whoever
    named no installation.

    ``token_file`` holds nothing but a token: a token is not an argument of a command, for others can list those. Raises
    NoCredentials.
    """
    path = file or environment.get(FILE, "")
    found = _read(Path(path)) if path else None
    token = _token(Path(token_file)) if token_file else environment.get(TOKEN, "").strip()
    address = url or environment.get(URL, "") or (found.url if found else "")
    if not address:
        said = f"No installation is named: give --url, {URL} or a file with --credentials or {FILE}."
        raise NoCredentials(f"{said} {hint}".rstrip())
    authorities = environment.get(CA, "") or (found.authorities if found else "")
    if token:
        return replace(of_token(address, token), authorities=authorities)
    if found is None:
        raise NoCredentials(f"No token: give --token-file, {TOKEN} or a file with --credentials or {FILE}.")
    if address.rstrip("/") != found.url.rstrip("/"):
        raise NoCredentials(f"The credentials of {path} are for {found.url}; they are not sent to {address}.")
    return replace(found, authorities=authorities)


class _File(msgspec.Struct):
    url: str = ""
    token: str = ""
    controller: str = ""
    authorization: str = ""
    authorities: str = ""


def _read(path: Path) -> Credentials:
    _check_mode(path)
    try:
        body = msgspec.json.decode(path.read_bytes(), type=prepared(_File))
    except (OSError, msgspec.MsgspecError) as error:
        raise NoCredentials(f"'{path}' is not a file of credentials: {type(error).__name__}.") from None
    if body.url and body.token:
        return replace(of_token(body.url, body.token), authorities=body.authorities)
    if body.controller and body.authorization:
        return Credentials(body.controller, body.authorization, body.authorities)
    raise NoCredentials(f"'{path}' lacks url and token, or controller and authorization.")


def _token(path: Path) -> str:
    _check_mode(path)
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise NoCredentials(f"The token cannot be read from '{path}': {type(error).__name__}.") from None


def _check_mode(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise NoCredentials(f"'{path}' cannot be read: {error.strerror}.") from None
    if mode & 0o077:
        raise NoCredentials(f"Others can read '{path}': chmod 600 {path}")
