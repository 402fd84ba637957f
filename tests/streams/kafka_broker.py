"""A real Kafka on loopback, from Maven's jars: broker and controller in one process, with kill -9 and restart.

``python -m tests.streams.kafka_broker`` starts one and stays in the foreground. The jars (46 MB) are fetched once with
``mvn``.
"""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from segments.processes.machine.java import find_java
from tests.maven import KAFKA
from tests.real_parts import free_port, until_ended
from tests.waiting import wait_until


def fetch_jars() -> str:
    """Fetch the jars with Maven if they are not there; what stands in the way, or "" when they are."""
    return KAFKA.fetch()


@dataclass
class KafkaBroker:
    """A running Kafka; ``bootstrap`` is what clients connect to. Data survives ``kill`` and ``restart``."""

    folder: Path
    port: int = field(default_factory=free_port)
    controller_port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def start(self) -> KafkaBroker:
        """Format the folder if it is new, start, wait until it answers."""
        settings = self.folder / "server.properties"
        if not settings.exists():
            settings.write_text(self._settings())
            identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "a")
            self._run("kafka.tools.StorageTool", "format", "-t", identity, "-c", str(settings)).wait(120)
        self.process = self._run("kafka.Kafka", str(settings))
        wait_until(self._answers, 120.0, f"Kafka on port {self.port} (see {self.folder}/kafka.out)")
        return self

    def create(self, topic: str, partitions: int = 1, **config: str) -> None:
        """A new topic, known to the broker when this returns."""
        self.admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(30)
        self._wait_for(topic, partitions)

    def add_partitions(self, topic: str, total: int) -> None:
        """More partitions for a topic."""
        self.admin.create_partitions([NewPartitions(topic, total)])[topic].result(30)
        self._wait_for(topic, total)

    def delete_before(self, topic: str, offsets: Mapping[int, int]) -> None:
        """Messages before these offsets, by partition, are gone."""
        for future in self.admin.delete_records(
            [TopicPartition(topic, p, offset) for p, offset in offsets.items()]
        ).values():
            future.result(30)

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in an orderly way."""
        self._end(signal.SIGTERM)

    def _wait_for(self, topic: str, partitions: int) -> None:
        def known() -> bool:
            found = self.admin.list_topics(topic, 10).topics[topic]
            return len(found.partitions) == partitions and all(p.leader >= 0 for p in found.partitions.values())

        wait_until(known, 30.0, f"topic {topic} with {partitions} partitions")

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"Kafka ended; see {self.folder}/kafka.out"
        try:
            return bool(self.admin.list_topics(timeout=1).brokers)
        except KafkaException:
            return False

    def _run(self, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(find_java(os.environ).executable), "-Xmx512m", "-cp", f"{KAFKA.lib}/*", main, *arguments]
        with (self.folder / "kafka.out").open("ab") as out:
            return subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=self.folder)

    def _settings(self) -> str:
        return f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{self.controller_port}
listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}
controller.listener.names=CONTROLLER
log.dirs={self.folder / "logs"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60.0)
            self.process = None


@contextmanager
def running() -> Iterator[KafkaBroker]:
    """A Kafka for the time of the block. AssertionError when its jars cannot be had."""
    problem = fetch_jars()
    assert not problem, problem
    with tempfile.TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True) as folder:
        broker = KafkaBroker(Path(folder))
        try:
            yield broker.start()
        finally:
            broker.kill()


if __name__ == "__main__":
    with until_ended(), running() as started:
        sys.stdout.write(f"KAFKA_BOOTSTRAP={started.bootstrap}\n")
        sys.stdout.flush()
        signal.pause()
