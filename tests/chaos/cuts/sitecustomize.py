"""For the processes of an installation under test: each named point of a commit at which one of them dies or fails.

A file ``<CUT_POINTS>/<point>`` arms a point; its text says what happens there: ``kill`` (SIGKILL of the process that
comes there), ``half 1`` (only the first write of the transaction is made, then the same; ``half 2``: the first two),
or ``fail`` (the call raises, or its message is lost). The first process that comes there takes the file and renames it
to ``<point>.taken-by-<pid>``; ``fail always`` stays until the file is removed, with a ``<point>.reached-by-<pid>`` next
to it.

Python imports this module at its start when its folder is on PYTHONPATH.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

FOLDER = os.environ.get("CUT_POINTS", "")
STATUS = "segment.realtime.status"


def reached(point: str) -> str:
    """What is to happen at ``point`` now: ``""``, ``half N`` or ``fail``; with ``kill`` it does not return."""
    armed = Path(FOLDER, point)
    try:
        effect = armed.read_text().strip()
        if effect == "fail always":
            armed.with_name(f"{point}.reached-by-{os.getpid()}").touch()
            return "fail"
        armed.rename(armed.with_name(f"{point}.taken-by-{os.getpid()}"))
    except FileNotFoundError:
        return ""
    if effect == "kill":
        die()
    return effect


def die() -> None:
    """As kill -9."""
    os.kill(os.getpid(), signal.SIGKILL)


def cut_writes(store: Any) -> None:
    """``start`` is the transaction that makes a segment's record COMMITTING, ``end`` the one that makes it DONE."""
    write = store.transaction

    def transaction(self: Any, writes: Sequence[Any]) -> None:
        what = kind_of(writes)
        effect = reached(f"before-{what}-is-written") if what else ""
        if effect.startswith("half"):
            write(self, writes[: int(effect.split()[1])])
            die()
        write(self, writes)
        if what:
            reached(f"after-{what}-is-written")

    store.transaction = transaction


def kind_of(writes: Sequence[Any]) -> str:
    """``start``, ``end``, or "" for any other transaction. The record comes first in both."""
    record = getattr(writes[0], "record", None) if writes else None
    if record is None or not writes[0].path.startswith("/PROPERTYSTORE/SEGMENTS/"):
        return ""
    return {"COMMITTING": "start", "DONE": "end"}.get(record.simple.get(STATUS), "")


def cut_calls(owner: Any, name: str, before: str, after: str, failed: Callable[[], Any]) -> None:
    """A method with a point before and after it; what ``failed`` returns stands in for its answer."""
    call = getattr(owner, name)

    def wrapped(*arguments: Any, **more: Any) -> Any:
        if reached(before) == "fail":
            return failed()
        answer = call(*arguments, **more)
        return failed() if reached(after) == "fail" else answer

    setattr(owner, name, wrapped)


def broken() -> None:
    """A build or an upload that fails."""
    raise RuntimeError("cut by the test")


def cut_server() -> None:
    """What a consuming server does for a commit."""
    from segments.dataplane.server.consuming.commit.building import Builder
    from segments.dataplane.server.consuming.commit.uploads import Uploader
    from segments.gateways.controller_protocol import NOT_SENT, Answer, HttpController

    def lost() -> Answer:
        return Answer(NOT_SENT)

    cut_calls(HttpController, "commit_start", "before-start-is-sent", "after-start-is-answered", lost)
    cut_calls(HttpController, "commit_end", "before-end-is-sent", "after-end-is-answered", lost)
    cut_calls(Builder, "build", "before-build", "after-build", broken)
    cut_calls(Uploader, "_to_store", "before-upload", "after-upload", broken)


if FOLDER:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    from segments.store.on_zookeeper.client import ZooKeeperStore

    cut_writes(ZooKeeperStore)
    if "run_server" in sys.orig_argv:
        cut_server()
