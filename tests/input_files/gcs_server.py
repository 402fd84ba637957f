"""A server that speaks Google Cloud Storage's protocol, for tests, as a process of its own; its objects are in memory.

It lies next to the S3 server, in a folder of its own within the virtual environment (requirements-s3.lock).
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyarrow.fs as pafs

from tests.real_parts import free_port
from tests.s3_server import PACKAGES, StoreServer, wait_for_port

BUCKET = "lake"


class GcsServer(StoreServer):
    """A running server at ``url`` with the bucket ``BUCKET``."""

    def files(self) -> pafs.GcsFileSystem:
        """As its administrator."""
        return pafs.GcsFileSystem(anonymous=True, endpoint_override=f"127.0.0.1:{self.port}", scheme="http")


def start_gcs() -> GcsServer:
    assert (PACKAGES / "gcp_storage_emulator").is_dir(), f"it is not in {PACKAGES}: run 'make .venv/.s3-server'"
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_for_port(port)
    return GcsServer(port, process)


def _serve(port: str) -> None:
    """The emulator, with ``includeTrailingDelimiter`` as the store has it: objects that stand for folders are listed,
    too, without what is in them.
    """
    sys.path.append(str(PACKAGES))
    from gcp_storage_emulator.__main__ import main
    from gcp_storage_emulator.storage import Storage

    plain = Storage._apply_list_delimiter

    def with_folders(self: Any, candidates: Any, prefix: str | None, delimiter: str, match_glob: Any) -> Any:
        found = list(candidates)
        objects, prefixes = plain(self, found, prefix, delimiter, match_glob)
        below = len(prefix or "")
        folders = [o for name, o in found if name[below:].find(delimiter) == len(name) - below - len(delimiter)]
        return [*objects, *folders], prefixes

    Storage._apply_list_delimiter = with_folders
    main(["start", "--host", "127.0.0.1", "--port", port, "--in-memory", "--default-bucket", BUCKET])


if __name__ == "__main__":
    _serve(sys.argv[1])
