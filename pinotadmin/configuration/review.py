"""What is wrong with a configuration as a whole, and with the parts that it names."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import django
from django.core.exceptions import ImproperlyConfigured

from pinotadmin.configuration.given import FILE, Given
from pinotadmin.configuration.path_prefix import check_prefix
from segments.domain.access.shared_secret import check_shared_secret
from segments.domain.formats.plural import counted
from segments.errors import InvalidInput, PinotAdminError
from segments.gateways.tls.certificate import CERTIFICATE, KEY, Certificate
from segments.gateways.tls.trust import CA, Trust
from segments.secret_texts import mask_text
from segments.store.on_zookeeper.login import parse_login

_DAY_S: Final = 86_400
#: A certificate that ends within these days is worth a word.
_SOON_DAYS: Final = 30
_SHARED_SECRETS: Final = ("PINOTADMIN_CLUSTER_SECRET", "PINOTADMIN_SECRET_KEY")
#: Files that are read later, some of them at the first use only.
_FILES: Final = ("PINOTADMIN_INPUT_LOGINS", "ZOOKEEPER_TLS_CA", "ZOOKEEPER_TLS_CERT", "ZOOKEEPER_TLS_KEY")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or (not an error) that somebody should consider."""

    message: str
    is_error: bool = True


def findings(values: Given, *, connect: bool) -> list[Finding]:
    """Everything that is wrong, errors first; ``connect``: also parts that do not answer."""
    found = [*_wrong_values(values), *_unknown(values), *_open_file(values), *_together(values)]
    found += [*_weak_secrets(values), *_missing_files(values), *_zookeeper_login(values), *_taken_prefix(values)]
    found += _certificates({s.name: s.text for s in values.settings.values()})
    if connect:
        found += _unreachable_parts(values)
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


def _weak_secrets(values: Given) -> Iterator[Finding]:
    """Those with which every part would refuse to start."""
    for name in _SHARED_SECRETS:
        setting = values.settings.get(name)
        try:
            if setting is not None and setting.text:
                check_shared_secret(name, setting.text)
        except InvalidInput as error:
            yield Finding(str(error))


def _missing_files(values: Given) -> Iterator[Finding]:
    for name in _FILES:
        setting = values.settings.get(name)
        if setting is not None and setting.text and not os.access(setting.text, os.R_OK):
            yield Finding(f"{name}: {setting.text} is not there, or cannot be read.")


def _zookeeper_login(values: Given) -> Iterator[Finding]:
    """A form that no part can use; it is never repeated."""
    names = ("ZOOKEEPER_AUTH", "ZOOKEEPER_TLS", "ZOOKEEPER_TLS_CERT")
    login, tls, certificate = (values.settings[n].text if n in values.settings else "" for n in names)
    try:
        parse_login(login, tls=tls.lower() in ("true", "1"), certificate=certificate)
    except InvalidInput as error:
        yield Finding(f"ZOOKEEPER_AUTH: {error}")


def _taken_prefix(values: Given) -> Iterator[Finding]:
    """A path that begins like one of ours: no web process would start."""
    setting = values.settings.get("PINOTADMIN_PATH_PREFIX")
    if setting is None or not setting.text or setting.problem:
        return
    try:
        django.setup()
        check_prefix()
    except ImproperlyConfigured as error:
        if setting.name in str(error):
            yield Finding(str(error))


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


def _certificates(texts: Mapping[str, str]) -> Iterator[Finding]:
    """TLS between parts, as this host's web and server processes would show and check it."""
    file, key, trust = texts[CERTIFICATE], texts[KEY], Trust(texts[CA])
    if key and not file:
        yield Finding(f"{KEY} is set and {CERTIFICATE} is not: this host's web and server processes speak no TLS.")
    try:
        _ = trust.context
        lasts_s = Certificate(file, key).check(texts["PINOTADMIN_HOST"], trust) if file else None
    except InvalidInput as error:
        yield Finding(str(error))
        return
    if lasts_s is None:
        return
    if lasts_s < _SOON_DAYS * _DAY_S:
        days = counted(int(lasts_s // _DAY_S), "day")
        yield Finding(f"The certificate in {file} ({CERTIFICATE}) ends in {days}: replace the file.", is_error=False)
    if stat.S_IMODE(Path(key or file).stat().st_mode) & 0o007:
        yield Finding(f"Others can read {key or file}, which holds a key. Run chmod 600 {key or file}.", is_error=False)
    if texts["PINOTADMIN_SECURE_COOKIES"].lower() not in ("true", "1"):
        yield Finding(
            f"{CERTIFICATE} is set: set PINOTADMIN_SECURE_COOKIES=true, so that browsers send their session over "
            "HTTPS only.",
            is_error=False,
        )


def _unreachable_parts(values: Given) -> Iterator[Finding]:
    """Of the parts that are set: `up` starts the others."""
    try:
        django.setup()
    except ImproperlyConfigured:  # the database's driver is not there, which is a finding already
        return
    from pinotadmin.configuration import part_connections  # needs the models

    for name, connect in part_connections.PARTS.items():
        is_tried = values.settings[name].source != "default" and not values.settings[name].problem
        problem = _problem_of(connect) if is_tried else ""
        if problem:
            yield Finding(f"{name} cannot be used: {problem}")
    if values.settings["ZOOKEEPER_URL"].source == "default" or values.settings["ZOOKEEPER_URL"].problem:
        return
    with suppress(PinotAdminError):  # a ZooKeeper that does not answer is a finding already
        for instance in part_connections.without_tls():
            yield Finding(
                f"{CERTIFICATE} is set, and {instance} runs without one: others call it without TLS.", is_error=False
            )


def _problem_of(connect: Callable[[], None]) -> str:
    try:
        connect()
    except Exception as error:  # noqa: BLE001 - each library has its own; the text is what a person needs
        return mask_text(f"{type(error).__name__}: {error}")
    return ""
