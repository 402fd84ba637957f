"""Takes a committed segment of a running installation from everywhere: every server's disk and the deep store."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from segments.domain.formats.znrecord import ZNRecord
from segments.store import paths
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.on_zookeeper.login import ZooKeeperLogin
from segments.store.update import update_record
from tests.integration.running import Installation
from tests.waiting import poll


def lose(installation: Installation, typed: str, segment: str) -> None:
    """Every replica is in ERROR when this returns, and no file of the segment is left."""
    given = installation.endpoints
    scheme, _, rest = given["zookeeper_auth"].partition(":")
    user, _, password = rest.partition(":")
    login = ZooKeeperLogin(scheme, user, password)
    with closing(ZooKeeperStore(given["zookeeper"], given["cluster"], login=login)) as store:

        def row_of(path: str) -> dict[str, str]:
            node = store.get(path)
            return dict(node.record.maps.get(segment, {})) if node and node.record else {}

        def set_row(row: dict[str, str] | None) -> None:
            def decide(node: Any) -> ZNRecord:
                kept = {k: v for k, v in node.record.maps.items() if k != segment}
                record: ZNRecord = node.record
                return replace(record, maps={**kept, segment: row} if row else kept)

            update_record(store, paths.ideal_state(typed), decide)

        row = row_of(paths.ideal_state(typed))
        set_row(None)
        poll(lambda: not row_of(paths.external_view(typed)), 30, "the servers to let go")
        for left in Path(installation.folder).rglob(f"{segment}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        set_row(row)
        poll(lambda: row_of(paths.external_view(typed)) == dict.fromkeys(row, "ERROR"), 30, "every replica in ERROR")
