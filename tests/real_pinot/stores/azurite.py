"""Azurite, which speaks the protocol of Azure's blobs, as a process of its own; its objects are in memory. It comes
from npm, once, into the folder of real parts.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pyarrow.fs as pafs

from tests.maven import cache_folder
from tests.real_parts import free_port
from tests.s3_server import StoreServer, wait_for_port

VERSION: Final = "3.37.0"
ACCOUNT: Final = "devstoreaccount1"
#: Not a secret: every Azurite has this one.
KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
CONTAINER: Final = "lake"
_MAIN: Final = Path("node_modules") / "azurite" / "dist" / "src" / "blob" / "main.js"


class Azurite(StoreServer):
    """A running server at ``url`` with the container ``CONTAINER``."""

    def files(self) -> pafs.AzureFileSystem:
        """As its administrator."""
        where = {f"{name}_authority": f"127.0.0.1:{self.port}" for name in ("blob_storage", "dfs_storage")}
        how = dict.fromkeys(("blob_storage_scheme", "dfs_storage_scheme"), "http")
        return pafs.AzureFileSystem(ACCOUNT, account_key=KEY, **where, **how)


def fetch(seconds: float = 300) -> str:
    """Install it if it is not there; what stands in the way, or "" when it is."""
    folder, npm = _folder(), shutil.which("npm")
    if (folder / "complete").exists():
        return ""
    if npm is None or shutil.which("node") is None:
        return "Azurite needs Node and npm"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [npm, "install", "--prefix", str(folder), "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            [*command, f"azurite@{VERSION}"], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"npm did not fetch Azurite in {seconds:.0f} s"
    if done.returncode != 0 or not (folder / _MAIN).exists():
        return f"npm could not fetch Azurite: {done.stderr[-300:]}"
    (folder / "complete").touch()
    return ""


def start_azurite() -> Azurite:
    port = free_port()
    options = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck"]
    process = subprocess.Popen(
        ["node", str(_folder() / _MAIN), *options, "--disableTelemetry"],
        cwd=_folder(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for_port(port)
    server = Azurite(port, process)
    server.files().create_dir(CONTAINER)
    return server


def _folder() -> Path:
    return cache_folder() / f"azurite-{VERSION}"
