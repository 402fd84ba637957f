"""Other servers that hold a segment: the way out when the deep store has it not, or not any more (rule
`deep-store-then-peers`).

Only replicas that are ONLINE in the external view and alive are asked, in random order, never this server itself. They
are asked for the CRC on record, and what comes is checked against it, so an old version cannot go round among servers
(rule `crc-of-the-bytes`).
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, MutableSequence
from urllib.parse import quote

from segments.dataplane.server.held.tar_stream import LZ4
from segments.domain.segments.ideal_state import ONLINE
from segments.domain.segments.peer_download_rules import HTTPS, speaks
from segments.domain.tables import table_config as configs
from segments.errors import PinotAdminError
from segments.names import REALTIME, split_table_name
from segments.store import paths
from segments.store.base import Store
from segments.store.records.instances import instance_configs, live_instances

log = logging.getLogger(__name__)


class Peers:
    """Finds the addresses. ``default_scheme``: for tables that name none themselves
    (``pinot.server.instance.peer.download.scheme``).
    """

    def __init__(
        self,
        store: Store,
        instance: str,
        default_scheme: str = "",
        shuffle: Callable[[MutableSequence[str]], None] = random.shuffle,
    ) -> None:
        self._store, self._instance, self._default = store, instance, default_scheme
        self._shuffle = shuffle

    def urls(self, table: str, segment: str, crc: int | None, *, only_copy: bool) -> list[str]:
        """Where to ask, in random order; [] when the table does not allow peers or nobody has it.

        ``crc``: of the version that is wanted, None when nobody knows it yet; ``only_copy``: the record says that
        nobody but servers has it, so a REALTIME table needs no scheme of its own to say so.
        """
        scheme = self._scheme(table)
        if not (speaks(scheme) or (only_copy and split_table_name(table)[1] == REALTIME)):
            return []
        view = self._store.get(paths.external_view(table))
        row = view.record.maps.get(segment, {}) if view and view.record else {}
        live, known = live_instances(self._store), instance_configs(self._store)
        holders = sorted(
            i for i, state in row.items() if state == ONLINE and i != self._instance and i in live and i in known
        )
        self._shuffle(holders)
        path = f"/segments/{quote(table, safe='')}/{quote(segment, safe='')}?compression={LZ4}"
        path += f"&crc={crc}" if crc is not None else ""
        found = [known[i].admin_url for i in holders]
        return [url + path for url in found if scheme != HTTPS or url.startswith("https:")]

    def _scheme(self, table: str) -> str:
        """As the table names it, else the server's own."""
        node = self._store.get(paths.table_config(table))
        try:
            config = configs.from_record(node.record) if node and node.record else None
        except PinotAdminError as error:
            log.warning("%s", error)
            config = None
        return self._default.lower() if config is None or config.peer_scheme is None else config.peer_scheme
