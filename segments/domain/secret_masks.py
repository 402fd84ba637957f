"""Which values of a config or a text are secrets, and what is shown in their place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

#: Shown in the place of a secret.
MASK: Final = "*****"
#: A key that holds one of these, as letters and digits in lower case, names a secret.
_SECRET_WORDS: Final = (
    "password", "passwd", "passphrase", "secret", "jaas", "keytab", "accesskey", "privatekey", "sharedkey", "accountkey", "apikey",
    "credential", "userinfo", "keystorekey", "keypem", "connectionstring", "authorization", "bearer", "signature",
)  # fmt: skip
#: A key that ends so names a secret.
_SECRET_ENDS: Final = ("token", "tokens", "pwd", "saskey")
#: What follows ``sasl.`` in a key and is no secret; everything else of a login is.
_OPEN_LOGIN: Final = frozenset(("mechanism", "mechanisms", "username", "kerberosservicename", "kerberosprincipal", "enabledmechanisms"))
#: Parameters of addresses that prove something, beside those that are named as keys are.
_SECRET_PARAMETERS: Final = frozenset(("sig", "pass"))
#: Maps whose keys are columns: a column may be called whatever it likes.
_BY_COLUMN: Final = frozenset((
    "columnPartitionMap", "noDictionaryConfig", "partialUpsertStrategies", "bloomFilterConfigs", "jsonIndexConfigs", "columnNameMap",
))  # fmt: skip
_NO_SECRET: Final = frozenset(("", "true", "false", "null"))
#: Deeper than any config; what lies deeper is not shown.
_DEEPEST: Final = 64
_OTHERS: Final = re.compile(r"[^a-z0-9]")
#: Ends what may be an address within a text.
_END: Final = re.compile(r"[\s\"'<>`]")
#: ``password="..."`` as logins and parameters spell it, also with quotes that are escaped because the text is itself in a text.
_PAIR: Final = re.compile(
    r"(password|passphrase|passwd|secret|secretkey|accesskey|accountkey|clientsecret)="
    r"""("(?:[^"\\]|\\.)*+"?|'[^']*+'?|\\++["'][^"'\\]*+|[^\s;&,"'\\]++)""",
    re.IGNORECASE | re.DOTALL,
)


def is_secret_key(key: str) -> bool:
    """Does a key, such as ``sasl.jaas.config`` or ``input.fs.prop.secretKey``, name a secret?"""
    lower = key.lower()
    plain = _OTHERS.sub("", lower)
    if any(word in plain for word in _SECRET_WORDS) or plain.endswith(_SECRET_ENDS):
        return True
    before, found, login = lower.rpartition("sasl.")
    return bool(found) and (not before or before.endswith(".")) and not _is_open_login(login)


def mask(value: Any) -> Any:
    """The value with every secret in it masked; the very same object when it holds none."""
    return _masked(value, is_secret=False, by_column=False, depth=0)


def mask_text(text: str) -> str:
    """A text (an address, a message) without the passwords of addresses and of logins that are spelled out in it."""
    if "://" in text:
        text = _without_address_secrets(text)
    return _PAIR.sub(_masked_pair, text) if "=" in text else text


def parsed_document(text: str) -> Any:
    """The object or list that a text spells as JSON; None for any other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def secret_leaves(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """(path, value) of everything that ``mask`` hides, in order; of a text with a secret in it the whole text."""
    return _differences(value, mask(value), ())


def without_secrets(text: str, config: Any) -> str:
    """A text in which nothing is left of the secrets of this config, even where it repeats them word by word."""
    for _, secret in secret_leaves(config):
        for form in (str(secret), json.dumps(str(secret))[1:-1]):
            if len(form) > 3:
                text = text.replace(form, MASK)
    return mask_text(text)


def _is_open_login(login: str) -> bool:
    plain = _OTHERS.sub("", login)
    return plain in _OPEN_LOGIN or plain.endswith("class")


def _masked(value: Any, *, is_secret: bool, by_column: bool, depth: int) -> Any:
    if isinstance(value, str):
        return _masked_text(value, is_secret=is_secret, depth=depth)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return MASK if is_secret else value
    if depth >= _DEEPEST:
        return MASK
    if isinstance(value, Mapping):
        pairs = {k: _masked_entry(str(k), v, is_secret=is_secret, by_column=by_column, depth=depth) for k, v in value.items()}
        return value if all(pairs[k] is v for k, v in value.items()) else pairs
    if isinstance(value, list | tuple):
        items = [_masked(v, is_secret=is_secret, by_column=False, depth=depth + 1) for v in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value


def _masked_entry(key: str, value: Any, *, is_secret: bool, by_column: bool, depth: int) -> Any:
    named = not by_column and is_secret_key(key)
    if named and isinstance(value, int | float) and not isinstance(value, bool) and key.lower().endswith("tokens"):
        named = False  # a number of tokens
    return _masked(value, is_secret=is_secret or named, by_column=key in _BY_COLUMN, depth=depth + 1)


def _masked_text(text: str, *, is_secret: bool, depth: int) -> str:
    if is_secret:
        return text if text == MASK or text.strip().lower() in _NO_SECRET else MASK
    if depth < _DEEPEST and (document := parsed_document(text)) is not None:
        shown = _masked(document, is_secret=False, by_column=False, depth=depth + 1)
        return text if shown is document else json.dumps(shown, separators=(",", ":"), ensure_ascii=False)
    scheme, found, rest = text.partition("://")
    if found and "://" not in rest and not _END.search(scheme):  # the whole of it is one address, whatever characters its password has
        shown_text = mask_text(f"{scheme}{found}{_shown_address(rest)}")
    else:
        shown_text = mask_text(text)
    return text if shown_text == text else shown_text


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


def _differences(value: Any, shown: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if value is shown:
        return
    if isinstance(value, Mapping) and isinstance(shown, Mapping):
        for key, inner in value.items():
            yield from _differences(inner, shown[key], (*path, str(key)))
    elif isinstance(value, list | tuple) and isinstance(shown, list | tuple):
        for index, (inner, hidden) in enumerate(zip(value, shown, strict=True)):
            yield from _differences(inner, hidden, (*path, index))
    elif isinstance(value, str) and shown != MASK and (document := parsed_document(value)) is not None:
        yield from _differences(document, mask(document), path)
    elif value != shown:
        yield path, value
