"""Instances of the cluster: how one joins and leaves, and who is there."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, OutcomeUnknown, PinotAdminError, StateConflict, Unavailable
from segments.names import http_address
from segments.store import paths
from segments.store.base import Store, Versioned
from segments.store.update import update_record

log = logging.getLogger(__name__)

_HELIX_VERSION = "2.0.1"
_FOLDERS = ("MESSAGES", "CURRENTSTATES", "TASKCURRENTSTATES", "CUSTOMIZEDSTATES", "ERRORS", "STATUSUPDATES", "HISTORY")
#: Before the names of brokers; each is a web process, which answers the cluster's other processes, too.
BROKER_PREFIX: Final = "Broker_"
#: Servers listen here unless their config says otherwise.
DEFAULT_ADMIN_PORT = 8097
#: Pinot's fields of the ports at which a server and a broker speak TLS; without one they do not.
_ADMIN_TLS_PORT: Final = "adminHttpsPort"
_WEB_TLS_PORT: Final = "TLS_PORT"


@dataclass(frozen=True)
class LiveInstance:
    """A running instance: its session (hex), and ``process`` = pid@host as it announced itself."""

    instance: str
    session: str
    process: str


@dataclass(frozen=True)
class InstanceConfig:
    """Where an instance listens and whether it may be used. ``simple`` holds every field of the record."""

    instance: str
    host: str
    port: int
    admin_port: int
    tags: tuple[str, ...]
    is_enabled: bool
    simple: Mapping[str, str]

    @property
    def admin_url(self) -> str:
        """Where a server answers: ``https://host:adminHttpsPort`` where it speaks TLS, else ``http://host:adminPort``,
        without a slash at the end.
        """
        return self._url(_ADMIN_TLS_PORT, self.admin_port)

    @property
    def web_url(self) -> str:
        """Where a web process answers, which is a broker of the cluster: ``https://host:TLS_PORT`` where it speaks TLS,
        else ``http://host:port``.
        """
        return self._url(_WEB_TLS_PORT, self.port)

    @property
    def has_tls(self) -> bool:
        """Does it speak TLS?"""
        return any(_number(self.simple.get(name), 0) > 0 for name in (_ADMIN_TLS_PORT, _WEB_TLS_PORT))

    def _url(self, tls_field: str, plain_port: int) -> str:
        tls_port = _number(self.simple.get(tls_field), 0)
        return http_address(self.host, tls_port or plain_port, tls=tls_port > 0)


class Membership:
    """An instance that joined. A new session makes its ephemeral node again automatically until ``leave``."""

    def __init__(self, store: Store, instance: str, process: str, patience_s: float) -> None:
        self.instance = instance
        self._store = store
        self._process = process
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._has_left = False

    def leave(self) -> None:
        """Remove the ephemeral node, when it is ours; config and folders stay, as Helix leaves them."""
        self._has_left = True
        with self._lock:
            path = paths.live_instance(self.instance)
            found = self._store.get(path)
            if found is not None and _session_of(found) == self._store.session_id():
                self._store.delete(path, found.version)

    def abandon(self) -> None:
        """Join in no later session; the present one's node, if any, stays."""
        self._has_left = True

    def announce(self) -> None:
        """Make the ephemeral node in the present session. StateConflict when another live process has the name and
        keeps it.
        """
        with self._lock:
            deadline = time.monotonic() + self._patience_s
            while not self._has_left and not self._try_announce():
                if time.monotonic() >= deadline:
                    raise StateConflict(
                        f"Instance {self.instance} is alive in another process.",
                        remedy="Stop that process, or take another port.",
                    )
                time.sleep(0.1)

    def rejoin(self) -> None:
        """``announce`` for a new session: keeps trying while ZooKeeper comes and goes, and logs what is final."""
        while not self._has_left:
            try:
                self.announce()
                return
            except (Unavailable, OutcomeUnknown):
                log.info("%s waits for ZooKeeper to join again", self.instance)
            except PinotAdminError:
                log.exception("%s cannot join again", self.instance)
                return

    def _try_announce(self) -> bool:
        """True when the node is there and ours."""
        path, session = paths.live_instance(self.instance), self._store.session_id()
        found = self._store.get(path)
        if found is not None and _session_of(found) == session:
            return True
        if found is not None and not self._is_stale(found):
            return False
        try:
            if found is not None:
                self._store.delete(path, found.version)
            self._store.create(path, _live_record(self.instance, session, self._process), ephemeral=True)
        except (Conflict, OutcomeUnknown):
            return False  # checked again by the caller
        return True

    def _is_stale(self, found: Versioned) -> bool:
        """True when the node is left from an older session of this process, or of a process of this host
        that is gone.
        """
        process = found.record.simple.get("LIVE_INSTANCE", "") if found.record else ""
        pid, _, host = process.partition("@")
        if process == self._process:
            return True
        return host == self._process.partition("@")[2] and pid.isdigit() and not is_running(int(pid))


def join(
    store: Store,
    instance: str,
    host: str,
    port: int,
    tags: Sequence[str],
    *,
    process: str = "",
    patience_s: float = 15.0,
    **fields: str | None,
) -> Membership:
    """Register the instance and announce it as live: its PARTICIPANT config, its folders, and its ephemeral
    LIVEINSTANCES node.

    Host, port and ``fields`` such as ``adminPort`` are set in the config, or taken out (None); the rest of an existing
    one is kept, also its tags, which an operator may have given: ``tags`` are for an instance that has none.

    ``process`` is pid@host of the caller, this process's by default. A node of an older session is replaced when its
    process is this one or is dead, else waited for: ``patience_s`` (seconds) should exceed the session timeout.
    StateConflict when it stays.
    """

    def decide(found: Versioned | None) -> ZNRecord:
        record = (found.record if found else None) or ZNRecord(instance)
        record = record.with_simple_items({"HELIX_HOST": host, "HELIX_PORT": str(port), **fields})
        return replace(record, lists={**record.lists, "TAG_LIST": record.lists.get("TAG_LIST") or list(tags)})

    update_record(store, paths.participant(instance), decide)
    folders = [f"{paths.INSTANCES}/{instance}/{name}" for name in _FOLDERS]
    for folder, found in zip(folders, store.get_many(folders), strict=True):
        if found is None:
            _ensure(store, folder)
    membership = Membership(store, instance, process or f"{os.getpid()}@{host}", patience_s)
    store.on_session(membership.rejoin)
    try:
        membership.announce()
    except PinotAdminError:
        membership.abandon()
        raise
    return membership


def live_instances(store: Store) -> dict[str, LiveInstance]:
    """The running instances by name."""
    names = store.children(paths.LIVE_INSTANCES)
    found = store.get_many([paths.live_instance(name) for name in names])
    return {
        name: LiveInstance(name, _session_of(node), node.record.simple.get("LIVE_INSTANCE", ""))
        for name, node in zip(names, found, strict=True)
        if node is not None and node.record is not None
    }


def instance_configs(store: Store) -> dict[str, InstanceConfig]:
    """The configs of all instances that ever joined, by name."""
    names = store.children(paths.PARTICIPANT_CONFIGS)
    found = store.get_many([paths.participant(name) for name in names])
    return {
        name: parse_config(node.record)
        for name, node in zip(names, found, strict=True)
        if node is not None and node.record is not None
    }


def web_urls(store: Store) -> dict[str, str]:
    """{instance id: ``web_url``} of every web process that ever joined the cluster."""
    return {name: c.web_url for name, c in instance_configs(store).items() if name.startswith(BROKER_PREFIX)}


def parse_config(record: ZNRecord) -> InstanceConfig:
    """The record of ``CONFIGS/PARTICIPANT`` as a value; a missing or malformed port counts as the
    default (admin) or 0.
    """
    simple = record.simple
    return InstanceConfig(
        instance=record.id,
        host=simple.get("HELIX_HOST", ""),
        port=_number(simple.get("HELIX_PORT"), 0),
        admin_port=_number(simple.get("adminPort"), DEFAULT_ADMIN_PORT),
        tags=tuple(record.lists.get("TAG_LIST", ())),
        is_enabled=_is_enabled(record),
        simple=dict(simple),
    )


def _is_enabled(record: ZNRecord) -> bool:
    """``HELIX_ENABLED`` decides where it is set; else the last instance operation, when there is one,
    must be ENABLE.
    """
    flag = record.simple.get("HELIX_ENABLED")
    if flag is not None:
        return flag.lower() != "false"
    operations = record.lists.get("HELIX_INSTANCE_OPERATIONS") or []
    if not operations:
        return True
    try:
        return bool(json.loads(operations[-1])["OPERATION"] == "ENABLE")
    except (ValueError, KeyError, TypeError):
        return False


def _session_of(node: Versioned) -> str:
    """Hex session: the znode's owner where it is a positive number, else what the record says."""
    if 0 < node.owner < 2**63:
        return format(node.owner, "x")
    return node.record.simple.get("SESSION_ID", "") if node.record else ""


def _live_record(instance: str, session: str, process: str) -> ZNRecord:
    return ZNRecord(
        instance,
        {
            "SESSION_ID": session,
            "HELIX_VERSION": _HELIX_VERSION,
            "LIVE_INSTANCE": process,
            "CURRENT_TASK_THREAD_POOL_SIZE": "40",
        },
    )


def _ensure(store: Store, path: str) -> None:
    try:
        store.create(path, None)
    except Conflict:
        return  # made by an earlier life of this instance


def _number(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isdigit() else default


def is_running(pid: int) -> bool:
    """Is there such a process on this machine?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
