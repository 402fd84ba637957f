"""Puts ranges on record that the stream had dropped before a consuming segment read them."""

from __future__ import annotations

import logging

from segments.dataplane.server.consuming.partition_reader import PartitionReader
from segments.dataplane.server.consuming.shared_resources import SharedResources
from segments.errors import PinotAdminError
from segments.store.records.data_loss import DataLoss, record_data_loss

log = logging.getLogger(__name__)


class Losses:
    """Those of one segment; each is reported once, later when ZooKeeper does not answer."""

    def __init__(self, parts: SharedResources, table: str, segment: str) -> None:
        self._parts, self._table, self._segment = parts, table, segment
        self._reported = 0

    def note(self, intake: PartitionReader) -> None:
        """Report those that came since the last call."""
        fresh = intake.lost[self._reported :]
        if not fresh:
            return
        partition, now_ms = intake.source.name.partition, self._parts.now_ms()
        try:
            rows = [DataLoss(partition, a.text, b.text, self._segment, now_ms) for a, b in fresh]
            record_data_loss(self._parts.store, self._table, rows)
        except PinotAdminError as error:
            log.warning("Lost ranges of %s are put on record later: %s", self._segment, error)
            return
        self._reported += len(fresh)
