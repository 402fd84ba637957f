"""How a store is reached and as whom: endpoint, region and login, which never stand in its address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

import pyarrow.fs as pafs

from segments.errors import InvalidInput
from segments.secret_texts import mask_text


@dataclass(frozen=True)
class StoreAccess:
    """Empty: what the machine says (``AWS_ACCESS_KEY_ID`` and the like). ``endpoint``: ``https://host:port`` of a store
    that is not the provider's own. ``options``: others that pyarrow knows for the scheme.
    """

    endpoint: str = ""
    region: str = ""
    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)
    options: tuple[tuple[str, str], ...] = ()

    def with_options_of(self, url: str) -> StoreAccess:
        """This, with what the options and the login in an address say in its place."""
        bare, _, query = url.partition("?")
        given = dict(parse_qsl(query, keep_blank_values=True))
        login, found, _ = bare.partition("://")[2].partition("/")[0].rpartition("@")
        key, _, secret = login.partition(":")
        is_login = found and bare.startswith("s3")
        return replace(
            self,
            endpoint=_endpoint(given.pop("endpoint_override", ""), given) or self.endpoint,
            region=given.pop("region", "") or self.region,
            access_key=unquote(key) if is_login else self.access_key,
            secret_key=unquote(secret) if is_login else self.secret_key,
            options=tuple({**dict(self.options), **given}.items()),
        )

    def to_json(self) -> dict[str, Any]:
        """For a process of ours elsewhere; holds the secret."""
        return asdict(self)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> StoreAccess:
        """The other way."""
        return cls(**{**body, "options": tuple((str(k), str(v)) for k, v in body.get("options", ()))})

    def query(self) -> dict[str, str]:
        """As pyarrow's options in an address."""
        scheme, found, host = self.endpoint.partition("://")
        endpoint = {"endpoint_override": host, "scheme": scheme} if found else {"endpoint_override": self.endpoint}
        given = {**(endpoint if self.endpoint else {}), "region": self.region, **dict(self.options)}
        return {key: value for key, value in given.items() if value}


def opened(url: str, access: StoreAccess) -> tuple[pafs.FileSystem, str]:
    """The file system of a store's address without options, and the root in it. InvalidInput, without secrets."""
    scheme, _, rest = url.partition("://")
    whole = url
    if scheme == "s3":
        login = f"{quote(access.access_key, safe='')}:{quote(access.secret_key, safe='')}@" if access.access_key else ""
        whole = f"{scheme}://{login}{rest}{_asked(access.query())}"
    elif scheme == "gs":
        whole += _asked(replace(access, region="").query())
    elif scheme != "file":
        whole += _asked(dict(access.options))
    try:
        if scheme in ("abfs", "abfss") and "@" in rest and (access.endpoint or access.secret_key):
            return _azure(rest, access)
        file_system, root = pafs.FileSystem.from_uri(whole)
    except Exception as error:
        raise InvalidInput(
            f"Deep store '{mask_text(url)}' cannot be opened: {_without(access, mask_text(str(error)))}.",
            remedy="Check DEEP_STORE_URL, DEEP_STORE_ENDPOINT and DEEP_STORE_REGION.",
        ) from error
    return file_system, root


def azure_endpoint(endpoint: str) -> dict[str, Any]:
    """pyarrow's options for Azure's protocol at ``http://host:port``; none for Azure itself."""
    scheme, found, host = endpoint.partition("://")
    names = ("blob_storage", "dfs_storage") if found else ()
    return {f"{name}_{key}": value for name in names for key, value in (("authority", host), ("scheme", scheme))}


def _azure(rest: str, access: StoreAccess) -> tuple[pafs.FileSystem, str]:
    """With the account's key, or at an endpoint of one's own."""
    authority, _, path = rest.partition("/")
    container, _, host = authority.partition("@")
    options = azure_endpoint(access.endpoint)
    account = pafs.AzureFileSystem(host.partition(".")[0], account_key=access.secret_key or None, **options)
    return account, f"{container}/{path}"


def _endpoint(host: str, options: dict[str, str]) -> str:
    scheme = options.pop("scheme", "") if host else ""
    return f"{scheme}://{host}" if scheme and "://" not in host else host


def _asked(query: Mapping[str, str]) -> str:
    return f"?{urlencode(query)}" if query else ""


def _without(access: StoreAccess, text: str) -> str:
    for secret in (access.secret_key, access.access_key):
        text = text.replace(secret, "*****").replace(quote(secret, safe=""), "*****") if secret else text
    return text
