"""How a config names the file system of its input, as Pinot's plugins do: ``input.fs.className``, ``input.fs.prop.*``.

Which properties are read, which have no effect on reading, and which may not stand in a config of a table because they
would use what the installation has: files of its machines, and roles that it may take.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from segments.domain.formats.config_text import config_text
from segments.domain.push.store_uri import AZURE, GCS, HDFS, S3, StoreUri, is_remote, parse_folder_uri
from segments.errors import InvalidInput
from segments.secret_texts import is_secret_key

PREFIX: Final = "input.fs."
_CLASS: Final = f"{PREFIX}className"
_PROPERTY: Final = f"{PREFIX}prop."
#: Names a login that the administrator keeps (ours).
LOGIN: Final = "login"
FILE: Final = "file"
_PACKAGE: Final = "org.apache.pinot.plugin.filesystem."
_CLASSES: Final = {
    "S3PinotFS": S3,
    "GcsPinotFS": GCS,
    "ADLSGen2PinotFS": AZURE,
    "AzureGen2PinotFS": AZURE,
    "HadoopPinotFS": HDFS,
    "LocalPinotFS": FILE,
}
_READ: Final = {
    S3: ("region", "accessKey", "secretKey", "sessionToken", "endpoint", "anonymous"),
    GCS: ("anonymous",),
    AZURE: ("accountName", "accessKey", "sasToken", "clientId", "clientSecret", "tenantId", "fileSystemName"),
    HDFS: ("user",),
    FILE: (),
}
#: What only the administrator's logins may hold besides.
_OF_LOGINS: Final = {
    S3: ("roleArn", "roleSessionName", "externalId"),
    GCS: ("endpoint",),
    AZURE: ("endpoint",),
    HDFS: (),
}
_WITHOUT_EFFECT: Final = {
    S3: (
        "disableAcl", "serverSideEncryption", "ssekmsKeyId", "ssekmsEncryptionContext", "sessionDurationSeconds",
        "asyncSessionUpdateEnabled", "storageClass", "useDefaultCredentialChain",
    ),
    GCS: ("projectId",),
    AZURE: ("authenticationType", "enableChecksum"),
    HDFS: (),
    FILE: (),
}  # fmt: skip
_REFUSED: Final = {
    "roleArn": "a role is taken with the installation's own login",
    "roleSessionName": "a role is taken with the installation's own login",
    "externalId": "a role is taken with the installation's own login",
    "iamRoleBasedAccessEnabled": "a role is taken with the installation's own login",
    "gcpKey": "it is a file of the installation's machines",
    "hadoop.conf.path": "it is a file of the installation's machines",
    "hadoop.kerberos.principle": "it is a login of the installation's machines",
    "hadoop.kerberos.keytab": "it is a file of the installation's machines",
    "managedIdentityClientId": "it is a login of the installation's machines",
}
_REGION: Final = re.compile(r"[a-z0-9-]{1,40}")
_ACCOUNT: Final = re.compile(r"[a-z0-9]{3,24}")
_FORMS: Final = {"region": _REGION, "accountName": _ACCOUNT, "anonymous": re.compile("(?i:true|false)")}


@dataclass(frozen=True)
class FileSystem:
    """``kind``: the scheme of its addresses, None when nothing says. ``login`` names one of the administrator's."""

    kind: str | None = None
    login: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def has_secrets(self) -> bool:
        """Is there anything in it that must not be stored or shown?"""
        return any(is_secret_key(key) for key in self.properties)


def read_file_system(given: Mapping[str, str]) -> FileSystem:
    """From the ``input.fs.*`` keys of a config; other keys are passed over. Raises InvalidInput naming the key."""
    kind = _kind(given.get(_CLASS, ""))
    found = {k.removeprefix(_PROPERTY): v for k, v in given.items() if k.startswith(_PROPERTY) and v != ""}
    login = found.pop(LOGIN, None)
    for key, value in found.items():
        _check_property(kind, key, value)
    if login is not None and found.keys() - {"accountName", "fileSystemName", "region"}:
        raise InvalidInput(
            f"'{_PROPERTY}{LOGIN}' names a login of the administrator's; next to it there can be no "
            f"{', '.join(map(repr, sorted(found)))}: a stored login is used exactly as it is kept.",
            remedy="Leave one of them out.",
            field=f"{_PROPERTY}{LOGIN}",
        )
    return FileSystem(kind, login, found)


def read_folder(folder: str, given: Mapping[str, str]) -> tuple[StoreUri | None, FileSystem]:
    """(the address of a folder, None for one of this machine; its file system) from the ``input.fs.*`` keys. Raises
    InvalidInput naming the key, also when they do not fit the address.
    """
    found = read_file_system(given)
    if not is_remote(folder):
        return None, found
    uri = parse_folder_uri(folder)
    if found.kind not in (None, uri.scheme):
        raise InvalidInput(
            f"'{_CLASS}' is not for addresses such as '{uri}'.", remedy="Leave it out, or correct it.", field=_CLASS
        )
    account = found.properties.get("accountName", "")
    if account and f"@{account}." not in uri.authority:
        raise InvalidInput(
            f"'{_PROPERTY}accountName' is not the account of '{uri}'.",
            remedy="Leave it out: the address names the account.",
            field=f"{_PROPERTY}accountName",
        )
    if (
        found.login is None
        and uri.scheme == S3
        and ("accessKey" in found.properties) != ("secretKey" in found.properties)
    ):
        raise InvalidInput(
            f"'{_PROPERTY}accessKey' and '{_PROPERTY}secretKey' belong together.",
            remedy="Give both, or neither.",
            field=f"{_PROPERTY}accessKey",
        )
    return uri, found


def without_effect(given: Mapping[str, str]) -> dict[str, str]:
    """{key: why} of the ``input.fs.*`` keys that reading files does not need."""
    kind = _CLASSES.get(given.get(_CLASS, "").strip().rpartition(".")[2])
    kinds = [kind] if kind else list(_READ)
    read = {p for k in kinds for p in _READ[k]}
    idle = {p for k in kinds for p in _WITHOUT_EFFECT[k]} - read
    return {k: "files are only read" for k in given if k.startswith(_PROPERTY) and k.removeprefix(_PROPERTY) in idle}


def from_pinot_fs_specs(specs: Any, scheme: str) -> dict[str, str]:
    """The same keys from a job specification's ``pinotFSSpecs``: those of the spec for ``scheme``. Raises
    InvalidInput.
    """
    for spec in specs if isinstance(specs, list) else ():
        if not isinstance(spec, Mapping) or str(spec.get("scheme", "")).lower() != scheme.lower():
            continue
        configs = spec.get("configs") or {}
        if not isinstance(configs, Mapping):
            raise InvalidInput("'pinotFSSpecs.configs' must be an object.", remedy="Give keys with texts.")
        found = {f"{_PROPERTY}{k}": config_text(v) for k, v in configs.items() if v is not None}
        return {_CLASS: str(spec.get("className") or ""), **found}
    return {}


def to_pinot_fs_specs(folder: str, login: str) -> list[dict[str, Any]]:
    """``pinotFSSpecs`` that name a login of the administrator's for a folder at an address; else none."""
    scheme, is_address, _ = folder.partition("://")
    names = {kind: name for name, kind in reversed(_CLASSES.items())}
    if not (is_address and login and is_remote(folder) and scheme.lower() in names):
        return []
    return [{"scheme": scheme.lower(), "className": _PACKAGE + names[scheme.lower()], "configs": {LOGIN: login}}]


def check_login(kind: str, properties: Mapping[str, str]) -> None:
    """A login as the administrator keeps it. Raises InvalidInput naming the property."""
    allowed = {*_READ[kind], *_OF_LOGINS[kind]}
    for key, value in properties.items():
        if key not in allowed or not isinstance(value, str) or not value:
            raise InvalidInput(f"'{key}' is not a property of a login to {kind}.", remedy=_known(allowed))
        _check_form(key, value)


def kind_of_class(name: str) -> str | None:
    """The scheme of Pinot's plugin class. Raises InvalidInput for an unknown one."""
    return _kind(name)


def _kind(name: str) -> str | None:
    kind = _CLASSES.get(name.strip().rpartition(".")[2]) if name.strip() else None
    if name.strip() and kind is None:
        raise InvalidInput(
            f"'{_CLASS}' {name[:200]!r} is not a file system that is known here.",
            remedy=f"Use one of {', '.join(_CLASSES)}.",
            field=_CLASS,
        )
    return kind


def _check_property(kind: str | None, key: str, value: str) -> None:
    path = f"{_PROPERTY}{key}"
    if key in _REFUSED:
        raise InvalidInput(
            f"'{path}' cannot stand in the config of a table: {_REFUSED[key]}.",
            remedy=f"Have the administrator keep a login with it, and name that with '{_PROPERTY}{LOGIN}'.",
            field=path,
        )
    known = {p for k in ([kind] if kind else _READ) for p in (*_READ[k], *_WITHOUT_EFFECT[k])}
    if key not in known:
        raise InvalidInput(f"'{path}' is not a property of this file system.", remedy=_known(known), field=path)
    _check_form(key, value)


def _check_form(key: str, value: str) -> None:
    form = _FORMS.get(key)
    if (form and not form.fullmatch(value)) or not value.isprintable() or len(value) > 4096:
        raise InvalidInput(f"'{_PROPERTY}{key}' is not as it must be.", remedy="Correct it.", field=f"{_PROPERTY}{key}")


def _known(names: Iterable[str]) -> str:
    return f"Known are {', '.join(sorted(names))}."
