"""nginx with the configuration of docs/deployment.md: TLS by an authority of our own, and a path prefix."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.integration.two_hosts.document import lists_of
from tests.real_parts import free_port
from tests.waiting import poll

MISSING: Final = "nginx is not installed (apt install nginx-light)"
#: The one address whose word on people's addresses is taken.
PROXY: Final = "127.0.0.2"
_MAIN: Final = """daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
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


@contextmanager
def running_nginx(folder: Path, controller: str, *, takes_prefix_off: bool = False) -> Iterator[str]:
    """The document's server in front of this web process; yields its address, without the prefix."""
    port = free_port()
    server = lists_of("Behind a proxy")[1]
    for words, ours in (
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("server_name tools.example", "server_name 127.0.0.1"),
        ("/etc/nginx/", f"{folder}/"),
        ("http://127.0.0.1:9000;", f"{controller}{'/' if takes_prefix_off else ''};"),
    ):
        assert words in server, words
        server = server.replace(words, ours)
    file = folder / f"nginx-{port}.conf"
    file.write_text(_MAIN.format(folder=folder, proxy=PROXY, server=server))
    with (folder / "nginx.log").open("ab") as log:
        process = subprocess.Popen([program(), "-p", str(folder), "-c", str(file)], stdout=log, stderr=log)
    try:
        poll(lambda: _answers(process, port), 20, "nginx")
        yield f"https://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    assert process.poll() is None, "nginx ended"
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
