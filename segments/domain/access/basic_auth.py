"""The credentials of HTTP Basic, also without the padding of base64: Pinot's own clients cut it off
(``normalizeBase64Token``).
"""

from __future__ import annotations

import base64


def parse_basic(token: str) -> tuple[str, str] | None:
    """(user, password) of what follows the word Basic; None when it is none. UTF-8, else Latin-1 (RFC 7617 leaves it
    open).
    """
    token = token.strip().rstrip("=")
    try:
        pair = base64.b64decode(token + "=" * (-len(token) % 4), validate=True)
    except ValueError:  # no base64, or no ASCII
        return None
    try:
        user, colon, password = pair.decode().partition(":")
    except UnicodeDecodeError:
        user, colon, password = pair.decode("latin-1").partition(":")
    return (user, password) if colon else None
