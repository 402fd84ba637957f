"""nginx with the configuration of docs/deployment.md: TLS by an authority of our own, and a path prefix."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.integration.two_hosts.document import lists_of
from tests.real_parts import free_port
from tests.waiting import poll

MISSING: Final = "nginx is not installed (apt install nginx-light)"
#: The one address whose word on people's addresses is taken.
PROXY: Final = "127.0.0.2"
_MAIN: Final = """daemon off; {account} pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{}}
http {{
    access_log off; proxy_bind {proxy};
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
{server}}}
"""


def program() -> str:
    """Where nginx is; empty: it is not installed."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin") or ""


def certificate(folder: Path) -> Path:
    """The authority's file; tools.pem and tools.key are next to it."""
    new_key = ("-newkey", "rsa:2048", "-nodes", "-days", "2")
    _openssl(folder, "req", "-x509", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem", *new_key)
    names = ("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", "tools.key", "-out", "tools.pem")
    _openssl(folder, "req", "-x509", "-subj", "/CN=127.0.0.1", *signed, *names, *new_key)
    return folder / "ca.pem"


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@dataclass
class Nginx:
    """A running one; ``site`` is its address, without the prefix."""

    site: str
    process: subprocess.Popen[bytes]

    def reload(self) -> None:
        """It reads its configuration again: other processes take over, and those of before end what they were at."""
        self.process.send_signal(signal.SIGHUP)


@contextmanager
def running_nginx(folder: Path, *controllers: str, takes_prefix_off: bool = False) -> Iterator[Nginx]:
    """The document's server in front of this web process, or its other one in front of two, each on a host of its
    own.
    """
    port = free_port()
    server = lists_of("Behind a proxy")[len(controllers)]
    for words, ours in (
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("server_name tools.example", "server_name 127.0.0.1"),
        ("/etc/nginx/", f"{folder}/"),
        *_addresses(controllers, "/" if takes_prefix_off else ""),
    ):
        assert words in server, words
        server = server.replace(words, ours)
    file = folder / f"nginx-{port}.conf"
    # What it starts cannot read the tests' folder as another user.
    account = "user root;" if os.getuid() == 0 else ""
    file.write_text(_MAIN.format(folder=folder, proxy=PROXY, server=server, account=account))
    with (folder / "nginx.log").open("ab") as log:
        process = subprocess.Popen([program(), "-p", str(folder), "-c", str(file)], stdout=log, stderr=log)
    try:
        poll(lambda: _answers(process, port), 20, "nginx")
        yield Nginx(f"https://127.0.0.1:{port}", process)
    finally:
        process.terminate()
        process.wait(20)


def _addresses(controllers: Sequence[str], path: str) -> list[tuple[str, str]]:
    if len(controllers) == 1:
        return [("http://127.0.0.1:9000;", f"{controllers[0]}{path};")]
    documented = ("server 127.0.0.1:9000 ", "server 127.0.0.2:9000 ")
    return [
        (words, f"server {url.removeprefix('http://')} ") for words, url in zip(documented, controllers, strict=True)
    ]


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    assert process.poll() is None, "nginx ended"
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
