"""Addresses of Spark clusters, as SPARK_MASTER has them."""

from __future__ import annotations

import re
from typing import Final

_LAST_PORT: Final = 65_535
_OTHERS: Final = re.compile(r"local(\[[0-9*]+(, *[0-9]+)?\])?|local-cluster\[[0-9, ]+\]|yarn|k8s://\S+")


def standalone_masters(master: str) -> list[tuple[str, str]]:
    """(host, port) of each master of a standalone cluster, as in spark://HOST:PORT,HOST:PORT; none of anything else.
    ValueError, with the part that is wrong, for an address that can be none.
    """
    if not master.startswith("spark://"):
        return []
    found = []
    for part in master.removeprefix("spark://").split(","):
        host, _, port = part.rpartition(":")
        if not host or not re.fullmatch(r"[0-9]{1,5}", port) or not 0 < int(port) <= _LAST_PORT:
            raise ValueError(part)
        found.append((host, port))
    return found


def is_master(text: str) -> bool:
    """Is it a form that Spark knows?"""
    try:
        return bool(standalone_masters(text) or _OTHERS.fullmatch(text))
    except ValueError:
        return False
