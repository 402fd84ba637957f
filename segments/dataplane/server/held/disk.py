"""How full the disk under this server's segments is (Pinot's DiskUsageInfo)."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any


def disk_usage(instance: str, folder: Path) -> dict[str, Any]:
    """Bytes of the file system that holds ``folder``: all, and those that are not free for this process. OSError when
    it is gone.
    """
    found = shutil.disk_usage(folder)
    return {
        "instanceId": instance,
        "path": str(folder),
        "totalSpaceBytes": found.total,
        "usedSpaceBytes": found.total - found.free,
        "lastUpdatedTimeInEpochMs": int(time.time() * 1000),
    }
