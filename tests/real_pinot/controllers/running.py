"""Real controllers of several versions of Pinot, without servers and brokers: ``start.groovy`` lets some stand in for
those.

One ZooKeeper for all, each controller with a cluster of its own. What they answer and write is Pinot's; that a segment
is ONLINE or CONSUMING is only reported by the stand-ins, who load nothing, commit nothing and answer no query.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.maven import CONTROLLERS
from tests.real_parts import ZooKeeperProcess, free_port, start_zookeeper
from tests.real_pinot.cluster import java_command

_HERE = Path(__file__).parent
#: Seconds until all must be up; about 25 on a quiet machine, as they start side by side.
_PATIENCE = 240.0
#: The version that asks for credentials, and listens on https as well.
GUARDED = "1.5.1"
#: {user: (password, permissions)} there.
USERS = {"admin": ("the-admins-word", ""), "reader": ("the-readers-word", "READ")}
_FACTORY = "org.apache.pinot.controller.api.access.BasicAuthAccessControlFactory"


@dataclass
class NewerController:
    """A running controller. ``authority`` is the file with its certificate, where it has one."""

    version: str
    folder: Path
    zookeeper: str
    url: str = ""
    https_url: str = ""
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def cluster(self) -> str:
        return f"newer-{self.version}"

    @property
    def is_guarded(self) -> bool:
        return self.version == GUARDED

    @property
    def authority(self) -> Path:
        return self.folder / "authority.pem"

    @property
    def log(self) -> Path:
        return self.folder / "controller.out"

    def start(self) -> None:
        """Begin to start it."""
        classes = self.folder / "classes"
        classes.mkdir(parents=True, exist_ok=True)
        settings = self._settings()
        config = self.folder / "controller.conf"
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        path = [classes, *(f"{jars.lib}/*" for jars in CONTROLLERS[self.version])]
        script = [str(part) for part in (_HERE / "start.groovy", config, classes, _HERE / "stand_ins.groovy")]
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                java_command(path, "512m", "groovy.ui.GroovyMain", *script),
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
            )

    def is_ready(self) -> bool:
        """Do it and all stand-ins run? AssertionError when it ended."""
        assert self.process is not None
        said = self.log.read_text(errors="replace")
        assert self.process.poll() is None, f"the controller {self.version} ended:\n{said[-4000:]}"
        return "\nREADY" in said and _is_well(f"{self.url}/health")

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None

    def _settings(self) -> dict[str, object]:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        prefix = "controller.access.protocols"
        settings: dict[str, object] = {
            "controller.helix.cluster.name": self.cluster,
            "controller.zk.str": self.zookeeper,
            "controller.host": "127.0.0.1",
            "controller.port": port,
            "controller.data.dir": self.folder / "deepstore",
            "controller.local.temp.dir": self.folder / "temp",
            prefix: "http",
            f"{prefix}.http.host": "127.0.0.1",
            f"{prefix}.http.port": port,
        }
        return settings | self._guard(prefix) if self.is_guarded else settings

    def _guard(self, prefix: str) -> dict[str, object]:
        port = free_port()
        self.https_url = f"https://127.0.0.1:{port}"
        store, password = make_certificate(self.folder, self.authority)
        control = "controller.admin.access.control"
        users = {f"{control}.principals.{user}.password": word for user, (word, _) in USERS.items()}
        rights = {f"{control}.principals.{user}.permissions": right for user, (_, right) in USERS.items() if right}
        return {
            prefix: "http,https",
            f"{prefix}.https.host": "127.0.0.1",
            f"{prefix}.https.port": port,
            "controller.tls.keystore.path": store,
            "controller.tls.keystore.password": password,
            "controller.tls.keystore.type": "PKCS12",
            f"{control}.factory.class": _FACTORY,
            f"{control}.principals": ",".join(USERS),
            **users,
            **rights,
        }


def make_certificate(folder: Path, authority: Path) -> tuple[Path, str]:
    """A self-signed certificate for 127.0.0.1 by ``keytool``, which comes with Java; (its store, the
    store's password).
    """
    store, password = folder / "keystore.p12", "of-no-worth"
    common = ["-keystore", str(store), "-storepass", password, "-alias", "controller"]
    made = [
        "-genkeypair",
        "-keyalg",
        "RSA",
        "-validity",
        "2",
        "-dname",
        "CN=localhost",
        "-ext",
        "san=ip:127.0.0.1",
        "-storetype",
        "PKCS12",
    ]
    for command in ([*made, *common], ["-exportcert", "-rfc", "-file", str(authority), *common]):
        done = subprocess.run(["keytool", *command], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return store, password


@contextmanager
def running(has_failed: Callable[[], bool] = bool) -> Iterator[dict[str, NewerController]]:
    """A controller of each version. The folder with the logs is kept when one does not start or
    ``has_failed`` says so.
    """
    folder, is_kept = Path(tempfile.mkdtemp(prefix="controllers-")), True
    zookeeper: ZooKeeperProcess | None = None
    found: dict[str, NewerController] = {}
    try:
        zookeeper = start_zookeeper(folder / "zookeeper")
        for version in CONTROLLERS:
            found[version] = NewerController(version, folder / version, zookeeper.hosts)
            found[version].start()
        _wait(found)
        yield found
        is_kept = has_failed()
    finally:
        for controller in found.values():
            controller.kill()
        if zookeeper is not None:
            zookeeper.kill()
        if is_kept:
            sys.stderr.write(f"\nThe logs of the controllers are kept in {folder}\n")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _wait(controllers: dict[str, NewerController]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not all(controller.is_ready() for controller in controllers.values()):
        late = [c.version for c in controllers.values() if not c.is_ready()]
        assert time.monotonic() < deadline, (
            f"the controllers {late} are not up:\n" + controllers[late[0]].log.read_text()[-4000:]
        )
        time.sleep(0.2)


def _is_well(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.read().strip() == b"OK")
    except (urllib.error.URLError, OSError):
        return False
