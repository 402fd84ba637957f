"""Reads the text of a setting as what it has to be: a number, bytes, true or false, a time zone, an address."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

from segments.domain.push.spark_master import is_master


class WrongText(ValueError):
    """The text is not what the setting has to be; the message says what that is and follows ``NAME must be``."""


def as_number(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError as error:
        raise WrongText(f"a whole number, not {text[:60]!r}") from error


def number_from(least: int, most: int | None = None) -> Callable[[str], int]:
    """A whole number of ``least`` or more, and ``most`` at most."""

    def read(text: str) -> int:
        number = as_number(text)
        if number < least or (most is not None and number > most):
            wanted = f"{least} or more" if most is None else f"from {least} to {most}"
            raise WrongText(f"{wanted}, not {number}")
        return number

    return read


def as_seconds(text: str) -> float:
    """Seconds, 1 or more, with up to three decimals."""
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", text) or float(text) < 1:
        raise WrongText(f"a number of seconds, 1 or more, not {text[:40]!r}")
    return float(text)


def as_networks(text: str) -> list[str]:
    """Addresses or networks with commas between: ``192.0.2.7,10.0.0.0/24``."""
    named = between(",")(text)
    for one in named:
        try:
            ipaddress.ip_network(one)
        except ValueError as error:
            raise WrongText(f"addresses or networks such as 192.0.2.7,10.0.0.0/24, not {one[:60]!r}") from error
    return named


def as_spark_master(text: str) -> str:
    """``local[*]``, ``spark://HOST:PORT``, ``yarn`` or ``k8s://https://HOST:PORT``."""
    if not is_master(text):
        raise WrongText(
            "local[*], spark://HOST:PORT (several with commas between), yarn or k8s://https://HOST:PORT, "
            f"not {text[:60]!r}"
        )
    return text


def as_path_prefix(text: str) -> str:
    """``/pinot``, ``/tools/pinot/`` or nothing; without the slash at its end."""
    prefix = text.strip().rstrip("/")
    if prefix and not re.fullmatch(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){1,5}", prefix):
        raise WrongText(f"a path such as /pinot, not {text[:60]!r}")
    return prefix


def as_file(text: str) -> str:
    """The path of a file from the root on, or nothing: processes do not all begin in the same folder."""
    if text and not text.startswith("/"):
        raise WrongText(f"a path that begins with /, not {text[:60]!r}")
    return text


def as_bytes(text: str) -> int:
    """``512M``, ``20G``, or plain bytes; in bytes."""
    short = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = {"K": 10, "M": 20, "G": 30, "T": 40}.get(short[-1:], 0)
    digits = short[:-1] if unit else short
    if not re.fullmatch("[0-9]{1,15}", digits):
        raise WrongText(f"a number of bytes such as 512M or 20G, not {text[:60]!r}")
    return int(digits) << unit


def as_bool(text: str) -> bool:
    """``true``, ``false``, ``1`` or ``0``."""
    lower = text.lower()
    if lower not in ("true", "false", "1", "0"):
        raise WrongText(f"true or false, not {text[:60]!r}")
    return lower in ("true", "1")


def one_of(*allowed: str) -> Callable[[str], str]:
    """One of these texts."""

    def read(text: str) -> str:
        if text not in allowed:
            raise WrongText(f"one of {', '.join(allowed)}, not {text[:60]!r}")
        return text

    return read


def as_log_level(text: str) -> str:
    """``DEBUG``, ``INFO``, ``WARNING``, ``ERROR`` or ``CRITICAL``, in small letters, too."""
    return one_of("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")(text.upper())


def as_time_zone(text: str) -> str:
    """The name of a time zone."""
    try:
        ZoneInfo(text)
    except (KeyError, OSError, ValueError) as error:
        raise WrongText(f"a time zone such as UTC or Europe/Berlin, not {text[:60]!r}") from error
    return text


def as_http_address(text: str) -> str:
    """``http://HOST:PORT`` or ``https://…``, or nothing; no login in it."""
    parts = urlsplit(text)
    if text and (parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query):
        raise WrongText("an address such as http://127.0.0.1:4318, without a login")
    return text


def as_header_list(text: str) -> dict[str, str]:
    """``name=value,name=value``, values percent-encoded where they need it. Values are secrets: no message has one."""
    pairs = [one.partition("=") for one in between(",")(text)]
    if any(not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", name.strip()) or not value for name, _, value in pairs):
        raise WrongText("name=value,name=value")
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs}


def as_share(text: str) -> float:
    """A number from 0 to 1."""
    if not re.fullmatch(r"0(\.[0-9]{1,6})?|1(\.0{1,6})?", text):
        raise WrongText(f"a number from 0 to 1, such as 0.1, not {text[:40]!r}")
    return float(text)


def words(text: str) -> list[str]:
    """Parts between spaces."""
    return text.split()


def between(separator: str) -> Callable[[str], list[str]]:
    """Parts between separators, without spaces around them."""

    def read(text: str) -> list[str]:
        return [part.strip() for part in text.split(separator) if part.strip()]

    return read


def with_checked_certificate(url: str) -> str:
    """The address of a Redis for Celery, which takes any certificate of a ``rediss://`` that does not say otherwise."""
    if not url.startswith("rediss://") or "ssl_cert_reqs=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}ssl_cert_reqs=required"
