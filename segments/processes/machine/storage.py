"""Where segments are kept, as ``up`` was asked: checked before anything starts, and what its processes get in their
environment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from segments.errors import InvalidInput
from segments.gateways.deep_store.access import StoreAccess
from segments.gateways.deep_store.no_deep_store import is_none, open_deep_store

DEEP_STORE: Final = "DEEP_STORE_URL"
SEGMENT_STORE: Final = "PINOTADMIN_SEGMENT_STORE_URL"
UPLOAD_TIMEOUT: Final = "PINOTADMIN_UPLOAD_TIMEOUT_S"
TO_CONTROLLER: Final = "PINOTADMIN_UPLOAD_TO_CONTROLLER"
READ_AHEAD: Final = "PINOTADMIN_READ_AHEAD_BYTES"
_ALL: Final = (DEEP_STORE, SEGMENT_STORE, UPLOAD_TIMEOUT, TO_CONTROLLER, READ_AHEAD)
_FORMS: Final = {
    UPLOAD_TIMEOUT: (re.compile(r"[1-9][0-9]{0,5}"), "a whole number of seconds, 1 or more"),
    TO_CONTROLLER: (re.compile(r"(?i:true|false|1|0)"), "true or false"),
    READ_AHEAD: (re.compile(r"(?i:[0-9]{1,15}[KMGT]?I?B?)"), "a number of bytes such as 512M or 2G"),
}


def checked_storage(asked: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The settings above that are given: ``asked`` on the command line, else in the environment.

    Raises InvalidInput naming the setting, what is wrong with it and what it can be.
    """
    given = {name: text for name in _ALL if (text := asked.get(name) or environ.get(name))}
    for name, (form, wanted) in _FORMS.items():
        if name in given and not form.fullmatch(given[name]):
            raise InvalidInput(
                f"{name} must be {wanted}, not {given[name][:40]!r}.", remedy="Correct it, or leave it out."
            )
    for name in (DEEP_STORE, SEGMENT_STORE):
        if name in given:
            _check_address(name, given[name], access_in(environ))
    has_segment_store = SEGMENT_STORE in given and not is_none(given[SEGMENT_STORE])
    if is_none(given.get(DEEP_STORE, "")) and has_segment_store:
        raise InvalidInput(
            f"{SEGMENT_STORE} says where servers reach the deep store, but {DEEP_STORE} is none: there is none.",
            remedy=f"Leave {SEGMENT_STORE} out.",
        )
    return given


def access_in(environ: Mapping[str, str]) -> StoreAccess:
    """Endpoint, region and login of the store as the environment has them."""
    endpoint, region, key, secret = (
        environ.get(f"DEEP_STORE_{part}", "") for part in ("ENDPOINT", "REGION", "ACCESS_KEY", "SECRET_KEY")
    )
    return StoreAccess(endpoint, region, key, secret)


def _check_address(name: str, url: str, access: StoreAccess) -> None:
    try:
        open_deep_store(url, access=access)
    except InvalidInput as error:
        raise InvalidInput(
            f"{name}: {error.message}",
            remedy="Use file:///path, s3://bucket/path or another that pyarrow knows, or none.",
        ) from error
