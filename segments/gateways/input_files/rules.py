"""What of an installation's settings decides where input is read, and as whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from segments.domain.access.outgoing import Kind, Rules
from segments.domain.push.file_system import FileSystem, read_folder
from segments.domain.push.store_uri import StoreUri, is_remote, stores_of
from segments.errors import Forbidden
from segments.gateways.input_files.access import FileAccess
from segments.gateways.input_files.logins import Login, find_login, login_names
from segments.gateways.outgoing.store_endpoint import checked_endpoint


@dataclass(frozen=True)
class InputRules:
    """``roots``: folders and addresses (``s3://bucket/prefix``). ``endpoints``: which servers of object stores a config
    may name. ``logins_file``: the administrator's named logins; "": there are none.
    """

    roots: tuple[str, ...] = ()
    endpoints: Rules = field(default_factory=lambda: Rules(Kind.STORE))
    logins_file: str = ""

    @property
    def login_names(self) -> list[str]:
        """What the administrator's logins are called. Raises InvalidInput or Unavailable when they cannot be read."""
        return login_names(self.logins_file)

    def access(self, folder: str, file_system: Mapping[str, str], *, table: str) -> FileAccess:
        """How ``folder`` (a path or an address, as a person wrote it) is read for a raw table, with the ``input.fs.*``
        keys of its config.

        A login of the installation's, named or from the environment, goes to no server that the config names. Raises
        InvalidInput naming the key, Forbidden for a folder outside the roots.
        """
        uri, asked = read_folder(folder, file_system)
        if uri is None:
            return FileAccess(tuple(r for r in self.roots if not is_remote(r)))
        if asked.login is not None:
            login = find_login(self.logins_file, asked.login, uri.scheme, table)
            return _allowed(uri, login.roots, login.pairs())
        return _allowed(uri, self.roots, self._own_pairs(asked))

    def _own_pairs(self, asked: FileSystem) -> tuple[tuple[str, str], ...]:
        """What the config says itself; without credentials of its own it gets none at an address of its own."""
        found = {k: v for k, v in asked.properties.items() if k not in ("accountName", "fileSystemName")}
        if "endpoint" in found:
            found["endpoint"] = checked_endpoint(found["endpoint"], self.endpoints)
            if "accessKey" not in found:
                found["anonymous"] = "true"
        return Login((), (), found).pairs()


def rules_of(roots: Sequence[str], endpoints: Sequence[str], loopback: bool, logins_file: str) -> InputRules:
    """From an installation's settings; ``loopback``: endpoints of this machine are allowed where none are named."""
    return InputRules(tuple(roots), Rules(Kind.STORE, endpoints, loopback=loopback), logins_file)


def _allowed(uri: StoreUri, roots: Sequence[str], pairs: tuple[tuple[str, str], ...]) -> FileAccess:
    allowed = stores_of(roots)
    if not any(uri.is_below(root) for root in allowed):
        names = ", ".join(map(str, allowed)) or "none"
        raise Forbidden(
            f"'inputDirURI' {uri} is outside the addresses that may be read ({names}).",
            remedy="Move the files there, or have the administrator allow it (PINOTADMIN_INPUT_ROOTS).",
            field="inputDirURI",
        )
    return FileAccess(tuple(map(str, allowed)), pairs)
