"""How ``manage.py server`` talks to the running ``up``: one JSON line each way over a private Unix socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from segments.errors import PinotAdminError, Unavailable

SOCKET_NAME = "control.sock"
#: ``kill``, ``stop`` or ``start`` and a name -> the sentence to print; raises PinotAdminError.
Handler = Callable[[str, str], Awaitable[str]]


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[str]:
    """A socket's path may have 107 bytes only: change into the folder for a moment and use the bare name."""
    before = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    try:
        yield SOCKET_NAME
    finally:
        os.fchdir(before)
        os.close(before)


def _bind(folder: Path) -> socket.socket:
    with _inside(folder) as name:
        Path(name).unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)
        try:
            listener.bind(name)
        finally:
            os.umask(mask)
    listener.setblocking(False)
    return listener


class ControlServer:
    """Answers requests until closed."""

    def __init__(self, folder: Path, handler: Handler) -> None:
        self._folder = folder
        self._handler = handler
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen on ``folder/control.sock`` (mode 0600)."""
        self._server = await asyncio.start_unix_server(self._answer, sock=_bind(self._folder))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            reply = await self._reply(await reader.readline())
            writer.write(json.dumps(reply).encode() + b"\n")
            await writer.drain()
        except ConnectionError:
            return
        finally:
            writer.close()

    async def _reply(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            action, name = str(request["action"]), str(request["name"])
        except (ValueError, KeyError, TypeError):
            return {"ok": False, "message": "The request is not a JSON object with action and name."}
        try:
            return {"ok": True, "message": await self._handler(action, name)}
        except PinotAdminError as error:
            return {"ok": False, "message": str(error)}

    def close(self) -> None:
        """Stop listening and remove the socket."""
        if self._server:
            self._server.close()
        (self._folder / SOCKET_NAME).unlink(missing_ok=True)


def ask(folder: Path, action: str, name: str, *, timeout: float = 180.0) -> str:
    """Send one request to the ``up`` of this data directory; its answer.

    Raises Unavailable when no ``up`` runs there or it does not answer within ``timeout`` seconds, PinotAdminError with
    the reason when it refuses.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            with _inside(folder) as path:
                connection.connect(path)
            connection.sendall(json.dumps({"action": action, "name": name}).encode() + b"\n")
            with connection.makefile("rb") as answers:
                line = answers.readline()
        except TimeoutError as error:
            raise Unavailable(
                f"The 'up' of {folder} did not answer within {timeout:.0f} s.", remedy="Read its output."
            ) from error
        except OSError as error:
            raise Unavailable(
                f"No 'up' runs on {folder} ({error.strerror or error}).",
                remedy="Start one with 'python manage.py up', or name its directory with --data-dir.",
            ) from error
    if not line:
        raise Unavailable(f"The 'up' of {folder} ended before it answered.", remedy="Read its output.")
    reply = json.loads(line)
    if not reply["ok"]:
        raise PinotAdminError(reply["message"])
    return str(reply["message"])
