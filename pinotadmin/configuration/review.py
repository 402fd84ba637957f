"""What is wrong with a configuration as a whole, and with the parts that it names."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import django

from pinotadmin.configuration.given import FILE, Given
from segments.secret_texts import mask_text


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or (not an error) that somebody should consider."""

    message: str
    is_error: bool = True


def findings(values: Given, *, connect: bool) -> list[Finding]:
    """Everything that is wrong, errors first; ``connect``: also parts that do not answer."""
    found = [*_wrong_values(values), *_unknown(values), *_open_file(values), *_together(values)]
    if connect:
        found += _unreachable_parts()
    return sorted(found, key=lambda f: not f.is_error)


def _wrong_values(values: Given) -> Iterator[Finding]:
    for setting in values.settings.values():
        if setting.problem:
            yield Finding(mask_text(setting.problem))


def _unknown(values: Given) -> Iterator[Finding]:
    for name, nearest in values.unknown():
        yield Finding(f"{name} is not a setting." + (f" Did you mean {nearest}?" if nearest else ""))


def _open_file(values: Given) -> Iterator[Finding]:
    """Others may read the file, and it holds a secret."""
    secret = [s.name for s in values.settings.values() if s.is_secret and s.source == values.file]
    if secret and stat.S_IMODE(Path(values.file).stat().st_mode) & 0o077:
        yield Finding(f"{FILE}: others can read {values.file}, which holds {secret[0]}. Run chmod 600 {values.file}.")


def _together(values: Given) -> Iterator[Finding]:
    """Settings that only make sense together."""
    texts = {s.name: s.text for s in values.settings.values()}
    origins, cookies = texts["PINOTADMIN_TRUSTED_ORIGINS"], texts["PINOTADMIN_SECURE_COOKIES"]
    if "https://" in origins and cookies.lower() not in ("true", "1"):
        yield Finding(
            "PINOTADMIN_TRUSTED_ORIGINS names an https:// address: set PINOTADMIN_SECURE_COOKIES=true, so that "
            "browsers send their session over HTTPS only.",
            is_error=False,
        )
    if texts["PINOTADMIN_DEBUG"].lower() in ("true", "1"):
        yield Finding("PINOTADMIN_DEBUG shows settings and code to everybody who causes an error.", is_error=False)


def _unreachable_parts() -> Iterator[Finding]:
    django.setup()
    from pinotadmin.configuration.part_connections import PARTS  # needs the models

    for name, connect in PARTS.items():
        problem = _problem_of(connect)
        if problem:
            yield Finding(f"{name} cannot be used: {problem}")


def _problem_of(connect: Callable[[], None]) -> str:
    try:
        connect()
    except Exception as error:  # noqa: BLE001 - each library has its own; the text is what a person needs
        return mask_text(f"{type(error).__name__}: {error}")
    return ""
