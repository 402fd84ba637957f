"""The deep store's files in a backup: which there are, with size and CRC. Their bytes stay where they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson

from segments.gateways.deep_store.deepstore import DELETED, DeepStore

#: Missing files that are named one by one.
NAMED: Final = 20


def listed(store: DeepStore, crcs: dict[str, dict[str, int]]) -> Iterator[bytes]:
    """A line for each file of the tables in ``crcs`` ({encoded raw table: {path: CRC of its record}}), and of what was
    deleted and can still come back. Nothing without a deep store.
    """
    if not store.exists:
        return
    for folder in (f"{kind}{table}" for table in sorted(crcs) for kind in ("", f"{DELETED}/")):
        known = crcs.get(folder, {})
        for file in store.files(folder):
            path = f"{folder}/{file.name}"
            crc = {"crc": known[path]} if path in known else {}
            yield orjson.dumps({"file": path, "size": file.size, **crc})


def missing(store: DeepStore, lines: Iterable[dict[str, Any]]) -> list[str]:
    """Files that queries need (those with a CRC) and that are not in this deep store, or with another size; a line
    each.
    """
    found: dict[str, dict[str, int]] = {}
    lost = []
    for line in lines:
        if "crc" not in line:
            continue
        path, size = str(line["file"]), line["size"]
        folder = path.rpartition("/")[0]
        if folder not in found:
            found[folder] = {f"{folder}/{file.name}": file.size for file in store.files(folder)} if store.exists else {}
        if path not in found[folder]:
            lost.append(f"{path} is missing")
        elif found[folder][path] != size:
            lost.append(f"{path} has {found[folder][path]} bytes instead of {size}")
    return lost
