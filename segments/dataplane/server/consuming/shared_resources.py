"""What all consuming segments of a server share: stores, connections, limits."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from segments.dataplane.primary_keys.server_keys import ServerKeys
from segments.dataplane.server.consuming.commit.uploads import Uploader
from segments.dataplane.server.consuming.stream_pool import StreamPool
from segments.dataplane.server.held.column_cache import ColumnCache
from segments.dataplane.server.held.segment_folders import SegmentFolders
from segments.dataplane.server.segment_lives import SegmentLives
from segments.dataplane.server.set_aside import Outbox
from segments.gateways.controller_protocol import Controller
from segments.store.base import Store


def _clock_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class ConsumingSettings:
    """Limits of a server. Sizes in bytes, times in seconds.

    ``builds``: segments built at a time; ``segment_bytes``: memory of one consuming segment before it is committed
    whatever its rows; ``fetch_s``: how long a fetch waits for messages; ``catch_up_s``: how long a segment that goes
    ONLINE reads what it lacks before it is downloaded instead; ``upload_s``: time limit of an upload; ``peer_wait_s``:
    how long a commit waits for one where other servers can serve the segment meanwhile; ``reads_ahead``: read on while
    a segment is committed; ``ahead_bytes``: memory of all rows of this server that were read ahead beyond the segment
    that follows. ``uploads_through_controller``: ``enableSegmentUploadToController``, the way of a server that does not
    write to the deep store.
    """

    builds: int = 2
    segment_bytes: int = 1 << 30
    fetch_messages: int = 10_000
    fetch_s: float = 0.5
    catch_up_s: float = 31.0
    upload_s: float = 300.0
    peer_wait_s: float = 2.0
    reads_ahead: bool = True
    ahead_bytes: int = 1 << 30
    uploads_through_controller: bool = False


@dataclass(frozen=True)
class SharedResources:
    """The server's own things that a consuming segment works with. ``set_aside``: where messages go that gave no row;
    None: nowhere. ``keys``: of tables in which a primary key has one row.
    """

    store: Store
    instance: str
    controller: Controller
    uploader: Uploader
    streams: StreamPool
    folders: SegmentFolders
    cache: ColumnCache
    keys: ServerKeys
    settings: ConsumingSettings = field(default_factory=ConsumingSettings)
    builds: threading.BoundedSemaphore = field(default_factory=lambda: threading.BoundedSemaphore(2))
    set_aside: Outbox | None = None
    lives: SegmentLives = field(default_factory=SegmentLives)

    def now_ms(self) -> int:
        """Epoch milliseconds."""
        return _clock_ms()
