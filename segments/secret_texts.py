"""Secrets in texts: which keys name one, and what is shown in the place of a password in an address or a login."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

#: Shown in the place of a secret.
MASK: Final = "*****"
#: A key that holds one of these, as letters and digits in lower case, names a secret.
_SECRET_WORDS: Final = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "jaas",
    "keytab",
    "accesskey",
    "privatekey",
    "sharedkey",
    "accountkey",
    "encryptionkey",
    "jsonkey",
    "apikey",
    "credential",
    "userinfo",
    "keystorekey",
    "keypem",
    "connectionstring",
    "authorization",
    "bearer",
    "signature",
)
#: A key that ends so names a secret.
_SECRET_ENDS: Final = ("token", "tokens", "pwd", "saskey")
#: What follows ``sasl.`` in a key and is not a secret; everything else of a login is.
_OPEN_LOGIN: Final = frozenset(
    ("mechanism", "mechanisms", "username", "kerberosservicename", "kerberosprincipal", "enabledmechanisms")
)
#: Parameters of addresses that prove something, besides those that are named as keys are.
_SECRET_PARAMETERS: Final = frozenset(("sig", "pass"))
_OTHERS: Final = re.compile(r"[^a-z0-9]")
#: Ends what may be an address within a text.
_END: Final = re.compile(r"[\s\"'<>`]")
#: ``password="..."`` as logins and parameters spell it, also with quotes that are escaped because the text is itself in
#: a text.
_PAIR: Final = re.compile(
    r"(password|passphrase|passwd|secret|secretkey|accesskey|accountkey|clientsecret)="
    r"""("(?:[^"\\]|\\.)*+"?|'[^']*+'?|\\++["'][^"'\\]*+|[^\s;&,"'\\]++)""",
    re.IGNORECASE | re.DOTALL,
)


@lru_cache(maxsize=4096)
def is_secret_key(key: str) -> bool:
    """Does a key, such as ``sasl.jaas.config`` or ``input.fs.prop.secretKey``, name a secret?"""
    lower = key.lower()
    plain = _OTHERS.sub("", lower)
    if any(word in plain for word in _SECRET_WORDS) or plain.endswith(_SECRET_ENDS):
        return True
    before, found, login = lower.rpartition("sasl.")
    return bool(found) and (not before or before.endswith(".")) and not _is_open_login(login)


def mask_text(text: str) -> str:
    """A text (an address, a message) without the passwords of addresses and of logins that are spelled out in it."""
    if "://" in text:
        text = _without_address_secrets(text)
    return _PAIR.sub(_masked_pair, text) if "=" in text else text


def mask_address(text: str) -> str:
    """The same of a text that is one address as a whole, whatever characters its password has."""
    scheme, found, rest = text.partition("://")
    if found and "://" not in rest and not _END.search(scheme):
        return mask_text(f"{scheme}{found}{_shown_address(rest)}")
    return mask_text(text)


def _is_open_login(login: str) -> bool:
    plain = _OTHERS.sub("", login)
    return plain in _OPEN_LOGIN or plain.endswith("class")


def _masked_pair(found: re.Match[str]) -> str:
    value = found[2]
    opening = value[: len(value) - len(value.lstrip("\\\"'"))]
    is_closed = opening in ('"', "'") and len(value) > 1 and value.endswith(opening)
    return f"{found[1]}={opening}{MASK}{opening if is_closed else ''}"


def _without_address_secrets(text: str) -> str:
    """Every ``scheme://user:password@host`` and every ``?token=...`` in the text; one step for each character."""
    parts, at = [], 0
    while (found := text.find("://", at)) >= 0:
        start = found + 3
        parts.append(text[at:start])
        following = text.find("://", start)
        end = following if following >= 0 else len(text)
        ending = _END.search(text, start, end)
        end = ending.start() if ending else end
        parts.append(_shown_address(text[start:end]))
        at = end
    parts.append(text[at:])
    return "".join(parts)


def _shown_address(rest: str) -> str:
    """``user:password@host/path?token=x`` with what proves something masked."""
    cut = min((i for i in (rest.find(c) for c in "/?#") if i >= 0), default=len(rest))
    authority, path = rest[:cut], rest[cut:]
    user, at, host = authority.rpartition("@")
    if not at and "@" in path and ":" in authority and not authority.rpartition(":")[2].isdigit():
        # A password with a slash that nobody escaped: what follows the last '@' is the host.
        user, at, after = rest.rpartition("@")
        cut = min((i for i in (after.find(c) for c in "/?#") if i >= 0), default=len(after))
        host, path = after[:cut], after[cut:]
    name, colon, password = user.partition(":")
    login = f"{name}:{MASK}" if colon and password else f"{name}{colon}" if colon or len(user) < 20 else MASK
    address, question, query = path.partition("?")
    if question:
        query = "&".join(_shown_parameter(p) for p in query.split("&"))
    return f"{login if at else ''}{at}{host}{address}{question}{query}"


def _shown_parameter(pair: str) -> str:
    key, equals, value = pair.partition("=")
    return f"{key}={MASK}" if equals and value and (is_secret_key(key) or key.lower() in _SECRET_PARAMETERS) else pair
