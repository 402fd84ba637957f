"""A real HDFS: NameNode and DataNode of Apache Hadoop as processes of their own, and Hadoop's native client, which is
compiled once from its sources. Jars come from Maven, those sources from crates.io (the crate ``hdfs-sys`` holds them
unchanged), into the folder of real parts.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from getpass import getuser
from pathlib import Path
from typing import Final

import pyarrow.fs as pafs

from segments.processes.machine.java import find_java
from segments.processes.machine.zookeeper import zookeeper_jars
from tests.maven import Jars
from tests.real_parts import free_port
from tests.waiting import poll

JARS: Final = Jars("hdfs-3.5.0", Path(__file__).with_name("pom.xml"))
_SOURCES: Final = ("hdfs-sys", "0.3.1")
#: Of PySpark's: Hadoop's client and what it logs through.
_SHARED: Final = tuple(
    f"{name}-*.jar" for name in ("hadoop-client", "slf4j-api", "log4j", "jcl-over-slf4j", "commons-lang3")
)
_SITE: Final = {
    "dfs.replication": "1",
    "dfs.namenode.http-address": "127.0.0.1:0",
    "dfs.datanode.address": "127.0.0.1:0",
    "dfs.datanode.http.address": "127.0.0.1:0",
    "dfs.datanode.ipc.address": "127.0.0.1:0",
}
_LOG: Final = """rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
"""


@dataclass
class Hdfs:
    """A running one at ``address``; ``superuser``, the account of its NameNode, may do everything."""

    port: int
    superuser: str
    processes: list[subprocess.Popen[bytes]] = field(repr=False)

    @property
    def address(self) -> str:
        return f"hdfs://127.0.0.1:{self.port}"

    def files(self) -> pafs.HadoopFileSystem:
        return pafs.HadoopFileSystem("127.0.0.1", self.port, user=self.superuser)

    def put(self, path: str, data: bytes) -> None:
        files = self.files()  # its streams are closed with it
        with files.open_output_stream(f"/{path}") as out:
            out.write(data)

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def fetch() -> str:
    """Fetch and compile what is not there; what stands in the way, or "" when all is."""
    if problem := JARS.fetch(150):
        return problem
    return "" if _library().exists() else _compile()


def client_environment() -> dict[str, str]:
    """What a process needs to reach an HDFS through pyarrow."""
    return {
        "ARROW_LIBHDFS_DIR": str(_library().parent),
        "CLASSPATH": os.pathsep.join(_shared()),
        "LIBHDFS_OPTS": "-Xmx256m",
        "JAVA_HOME": str(find_java(os.environ).home),
    }


def start_hdfs(folder: Path) -> Hdfs:
    """One with its data in ``folder``, once it takes files."""
    port = free_port()
    (folder / "log4j2.properties").write_text(_LOG)
    _configure(folder / "core-site.xml", {"fs.defaultFS": f"hdfs://127.0.0.1:{port}", "hadoop.tmp.dir": str(folder)})
    _configure(folder / "hdfs-site.xml", _SITE)
    jars = [*map(str, JARS.lib.glob("*.jar")), *_shared()]
    java = [str(find_java(os.environ).executable), "-Xmx256m", "-cp", os.pathsep.join([str(folder), *jars])]
    package = "org.apache.hadoop.hdfs.server"
    subprocess.run([*java, f"{package}.namenode.NameNode", "-format"], check=True, capture_output=True, timeout=60)
    with (folder / "hdfs.log").open("ab") as log:
        mains = ("namenode.NameNode", "datanode.DataNode")
        processes = [subprocess.Popen([*java, f"{package}.{main}"], stdout=log, stderr=log) for main in mains]
    found = Hdfs(port, getuser(), processes)
    try:
        poll(lambda: _listens(port), 180, f"the NameNode listens (see {folder}/hdfs.log)")
        poll(lambda: _takes_files(found), 90, f"the HDFS takes files (see {folder}/hdfs.log)")
    except BaseException:
        found.stop()
        raise
    return found


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _takes_files(hdfs: Hdfs) -> bool:
    assert all(process.poll() is None for process in hdfs.processes), "it ended"
    try:
        hdfs.put("ready", b"yes")
    except OSError:
        return False
    return True


def _configure(path: Path, values: Mapping[str, str]) -> None:
    lines = (f"<property><name>{name}</name><value>{value}</value></property>" for name, value in values.items())
    path.write_text(f"<configuration>{''.join(lines)}</configuration>")


def _shared() -> list[str]:
    folder = zookeeper_jars()[0].parent
    return [str(jar) for pattern in _SHARED for jar in sorted(folder.glob(pattern))]


def _library() -> Path:
    return JARS.folder / "native" / "libhdfs.so"


def _compile() -> str:
    cargo, compiler, java = shutil.which("cargo"), shutil.which("gcc"), _java_home()
    if cargo is None or compiler is None or java is None:
        return "Hadoop's native client needs cargo, gcc and a JDK with its headers"
    if problem := _fetch_sources(cargo):
        return problem
    c = JARS.folder / "vendor" / _SOURCES[0] / "libhdfs"
    place = c / "hdfs_3_3"
    include = [c, place, place / "include", place / "os", place / "os" / "posix", java / "include"]
    include.append(java / "include" / "linux")
    jvm = java / "lib" / "server"
    sources = [*place.glob("*.c"), *(place / "os" / "posix").glob("*.c")]
    _library().parent.mkdir(exist_ok=True)
    made = _library().with_suffix(".new")
    done = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-w", "-fcommon", "-o", str(made), *(f"-I{i}" for i in include),
         *map(str, sources), f"-L{jvm}", "-ljvm", f"-Wl,-rpath,{jvm}", "-lpthread", "-ldl"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        return f"Hadoop's native client cannot be compiled: {done.stderr[-300:]}"
    made.rename(_library())
    return ""


def _fetch_sources(cargo: str) -> str:
    name, version = _SOURCES
    (JARS.folder / "src").mkdir(exist_ok=True)
    (JARS.folder / "src" / "lib.rs").touch()
    (JARS.folder / "Cargo.toml").write_text(
        f'[package]\nname = "sources"\nversion = "0.1.0"\n\n[dependencies]\n{name} = "={version}"\n'
    )
    try:
        done = subprocess.run(
            [cargo, "vendor", "vendor"], cwd=JARS.folder, capture_output=True, text=True, timeout=100, check=False
        )
    except subprocess.TimeoutExpired:
        return f"cargo did not fetch {name} in 100 s"
    return "" if done.returncode == 0 else f"cargo could not fetch {name}: {done.stderr[-300:]}"


def _java_home() -> Path | None:
    """Of the Java in use, if it is a JDK with headers."""
    home = find_java(os.environ).home
    return home if (home / "include" / "jni.h").exists() else None
