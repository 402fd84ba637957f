"""What a stream config may name: brokers, Redis and registries that are the installation's own, configured, or on a
private machine.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from confluent_kafka import Consumer

from segments.domain.access.outgoing import Kind, Rules
from segments.domain.realtime.streams.stream_config import StreamConfig, parse_stream_config
from segments.errors import InvalidInput, PinotAdminError, Unavailable
from segments.gateways.streams import check_stream, open_stream, stream_access
from segments.gateways.streams.kafka_brokers import KafkaBrokers
from segments.gateways.streams.redis_connections import redis_pool
from segments.gateways.streams.schema_registry import SchemaRegistry
from tests.real_parts import free_port

URL = "schema.registry.rest.url"


def redis_config(url: str, **extra: str) -> StreamConfig:
    return parse_stream_config(
        {"streamType": "redis", "stream.redis.topic.name": "x", "stream.redis.url": url, **extra}
    )


def kafka_config(brokers: str, **extra: str) -> StreamConfig:
    own = {"streamType": "kafka", "stream.kafka.topic.name": "x", "stream.kafka.decoder.class.name": "json"}
    return parse_stream_config(
        {**own, "stream.kafka.broker.list": brokers, "stream.kafka.connection.timeout.millis": "1000", **extra}
    )


@contextmanager
def listening(answer: Callable[[socket.socket], None] | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """A port on loopback, and the first bytes of every connection that came."""
    got: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                link, _ = server.accept()
            except OSError:
                return
            link.settimeout(5)
            with link:
                got.append(link.recv(1000))
                if answer is not None:
                    answer(link)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield server.getsockname()[1], got
    finally:
        server.close()


STRANGE = [
    "redis://10.0.0.1:6379/0",
    "redis://169.254.169.254:80/0",
    "redis://[::ffff:169.254.169.254]:80/0",
    "redis://2852039166:80/0",
    "redis://0:6379/0",
    "redis://[::]:6379/0",
    "unix:///var/run/redis.sock",
    "unix://127.0.0.1/var/run/redis.sock",
    "redis:///var/run/redis.sock",
    "redis://localhost:1/0?unix_socket_path=/etc/passwd",
    "redis://localhost:1/0?socket_timeout=x",
    "rediss://localhost:1/0?ssl_ca_certs=/etc/shadow",
    "rediss://localhost:1/0?ssl_keyfile=/etc/shadow&ssl_cert_reqs=none",
    "redis://localhost:1/0#x",
    "redis://localhost:1/zero",
    "redis://localhost:99999/0",
    "redis://localhost\\@10.0.0.1/0",
    "redis://local\thost:1/0",
    "redis://[::1/0",
    "http://localhost:1/",
    "localhost:6379",
    "redis://",
]


@pytest.mark.parametrize("url", STRANGE)
def test_a_redis_that_nothing_allows_is_refused_and_nobody_is_called(url: str) -> None:
    with pytest.raises(InvalidInput):
        check_stream(redis_config(url), stream_access(loopback=True))


@pytest.mark.parametrize(
    "brokers",
    [
        "10.0.0.1:9092",
        "169.254.169.254:80",
        "[::ffff:a9fe:a9fe]:80",
        "0:9092",
        "localhost:1,10.0.0.1:22",
        "SSL://10.0.0.1:22",
        "a@localhost:1",
        "localhost:99999",
        "localhost/x:1",
        "local host:1",
        ",",
        "localhost:1," * 200,
        "2130706434:1,167772161:1",
    ],
)
def test_a_broker_that_nothing_allows_is_refused_and_nobody_is_called(brokers: str) -> None:
    for config in (kafka_config(brokers), kafka_config("", **{"bootstrap.servers": brokers})):
        with pytest.raises(InvalidInput):
            check_stream(config, stream_access(loopback=True))


def test_this_machine_is_allowed_only_when_nobody_else_reaches_the_installation_and_nothing_is_configured() -> None:
    for config in (redis_config("redis://localhost:1/0"), kafka_config("127.0.0.1:1,[::1]:1")):
        check_stream(config, stream_access(loopback=True))
        with pytest.raises(InvalidInput, match="nothing configured allows it"):
            check_stream(config, stream_access())
        with pytest.raises(InvalidInput):
            check_stream(
                config, stream_access(loopback=True, kafka_roots=["kafka.example"], redis_roots=["redis.example"])
            )


def test_the_installations_own_is_always_allowed() -> None:
    access = stream_access("redis://:secret@10.0.0.5:6379/0", "k1.invalid:9092, k2.invalid:9093")
    check_stream(redis_config("redis://10.0.0.5:6379/3"), access)
    check_stream(kafka_config("k2.invalid:9093"), access)
    for config in (redis_config("redis://10.0.0.5:6380/0"), kafka_config("k2.invalid:9092")):
        with pytest.raises(InvalidInput):
            check_stream(config, access)


@pytest.mark.parametrize(
    ("roots", "place", "allowed"),
    [
        (["10.1.2.3"], "10.1.2.3:77", True),
        (["10.1.2.3:9092"], "10.1.2.3:9092", True),
        (["10.1.2.3:9092"], "10.1.2.3:22", False),
        (["*.kafka.invalid:9092"], "b1.Kafka.INVALID.:9092", True),
        (["*.kafka.invalid"], "evilkafka.invalid:9092", False),
        (["*.kafka.invalid"], "b1.kafka.invalid.evil.invalid:9092", False),
        (["169.254.169.254"], "169.254.169.254:80", False),
        (["[2001:db8::1]:9092"], "[2001:db8::1]:9092", True),
        (["127.0.0.1:9092"], "127.0.0.1:9092", True),
    ],
)
def test_roots_of_brokers_are_hosts_with_or_without_a_port(roots: list[str], place: str, allowed: bool) -> None:
    access = stream_access(kafka_roots=roots, redis_roots=roots)
    for config in (kafka_config(place), redis_config(f"redis://{place}/0")):
        if allowed:
            check_stream(config, access)
        else:
            with pytest.raises(InvalidInput):
                check_stream(config, access)


def test_the_installations_redis_login_goes_to_its_own_redis_only(valkey: int) -> None:
    own = f"redis://:its-secret@localhost:{valkey}/0"
    access = stream_access(own, loopback=True)
    same = redis_pool(f"redis://localhost:{valkey}/3", access, 1.0)
    assert (same.connection_kwargs["password"], same.connection_kwargs["db"]) == ("its-secret", 3)
    assert redis_pool("", access, 1.0).connection_kwargs["password"] == "its-secret"
    assert redis_pool(own, access, 1.0).connection_kwargs["password"] == "its-secret"
    for other in (f"redis://127.0.0.1:{valkey}/0", "redis://localhost:1/0", f"rediss://localhost:{valkey}/0"):
        assert redis_pool(other, access, 1.0).connection_kwargs["password"] is None
    theirs = redis_pool(f"redis://ann:other@localhost:{valkey}/0", access, 1.0)
    assert (theirs.connection_kwargs["username"], theirs.connection_kwargs["password"]) == ("ann", "other")


def test_a_name_that_leads_elsewhere_after_the_check_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding."""
    with listening() as (port, got):
        asked: list[str] = []

        def look_up(host: str, *_: Any, **__: Any) -> list[tuple[Any, ...]]:
            asked.append(host)
            number = "169.254.169.254" if len(asked) == 1 else "127.0.0.1"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, port))]

        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        access = stream_access(redis_roots=["rebind.example"], kafka_roots=["rebind.example"])
        with pytest.raises(InvalidInput):
            check_stream(redis_config(f"redis://rebind.example:{port}/0"), access)
        asked[:] = ["once"]
        stream = open_stream(redis_config(f"redis://rebind.example:{port}/0"), access)
        asked.clear()  # from now on its name leads to the cloud's own services
        with pytest.raises(PinotAdminError):
            stream.latest(0)
        assert got == []


def test_brokers_are_given_to_the_client_as_the_numbers_that_were_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KafkaBrokers, "_check_advertised", lambda *_: None)
    found = KafkaBrokers(kafka_config("SSL://localhost:77"), stream_access(loopback=True), {}).bootstrap(1.0)
    assert set(found.split(",")) <= {"127.0.0.1:77", "[::1]:77"}
    tls = KafkaBrokers(kafka_config("localhost:77"), stream_access(loopback=True), {"security.protocol": "sasl_ssl"})
    assert tls.bootstrap(1.0) == "localhost:77"
    own = KafkaBrokers(kafka_config("k.invalid:77"), stream_access(kafka_bootstrap="k.invalid:77"), {})
    assert own.bootstrap(1.0) == "k.invalid:77"


def test_a_cluster_may_not_send_its_clients_to_brokers_that_nothing_allows() -> None:
    cluster = Consumer(
        {"test.mock.num.brokers": 2, "group.id": "g", "log_level": 0}
    )  # brokers of librdkafka's own in this process
    try:
        ports = [broker.port for broker in cluster.list_topics(timeout=10).brokers.values()]
        config = kafka_config(f"localhost:{ports[0]}")  # its brokers call themselves 127.0.0.1
        for roots in (["localhost"], [f"localhost:{ports[0]}", f"127.0.0.1:{ports[0]}"]):
            stream = open_stream(config, stream_access(kafka_roots=roots))
            with pytest.raises(InvalidInput, match="names a broker that nothing configured allows") as refused:
                stream.latest(0)
            assert "127.0.0.1" not in str(refused.value)
        stream = open_stream(config, stream_access(kafka_roots=["localhost", "127.0.0.1"]))
        with pytest.raises(Unavailable, match="Unknown topic"):  # a Kafka answered
            stream.partitions()
        stream.close()
    finally:
        cluster.close()


def as_told(config: StreamConfig) -> str:
    stream = open_stream(config, stream_access(loopback=True))
    try:
        stream.latest(0)
    except Unavailable as error:
        return str(error)
    finally:
        stream.close()
    raise AssertionError("it answered")


def test_an_error_reveals_neither_whether_a_port_is_open_nor_what_answers_there() -> None:
    def say(text: bytes) -> Callable[[socket.socket], None]:
        return lambda link: link.sendall(text)

    told: dict[str, set[str]] = {"redis": set(), "kafka": set()}
    with (
        listening(say(b"-SECRET-BANNER\r\n")) as (one, _),
        listening(say(b"SSH-2.0-SECRET-BANNER\r\n")) as (two, _),
        listening() as (three, _),
    ):
        for port in (one, two, three, free_port()):
            told["redis"].add(as_told(redis_config(f"redis://127.0.0.1:{port}/0")))
            told["kafka"].add(as_told(kafka_config(f"127.0.0.1:{port}")))
            told["kafka"].add(as_told(kafka_config(f"127.0.0.1:{port}", **{"security.protocol": "SSL"})))
    assert [len(texts) for texts in told.values()] == [1, 1], told
    assert "BANNER" not in str(told)


# -- schema registries


class Registry(http.server.BaseHTTPRequestHandler):
    """/schemas/ids/7 has a schema; 8 redirects; 9 never ends; 11 is a registry's 404, all else another program's."""

    seen: list[tuple[str, str | None]] = []

    def do_GET(self) -> None:
        Registry.seen.append((self.path, self.headers["Authorization"]))
        number = self.path.rpartition("/")[2]
        body = {"7": json.dumps({"schema": '"int"'}), "11": json.dumps({"error_code": 40403})}.get(
            number, "SECRET-BANNER"
        )
        self.send_response({"7": 200, "8": 302, "9": 200}.get(number, 404))
        if number == "8":
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_address[1]}/schemas/ids/7")
        self.end_headers()
        if number == "9":
            with contextlib.suppress(OSError):
                for _ in range(100):
                    self.wfile.write(b"x" * 100_000)
        else:
            self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def registry() -> Iterator[str]:
    Registry.seen = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_registry_is_asked_with_its_own_login_and_redirects_are_not_followed(registry: str) -> None:
    rules = Rules(Kind.REGISTRY, loopback=True)
    client = SchemaRegistry({URL: f"http://ann:pa%3Ass@{registry}/"}, rules)
    assert client.schema_text(7) == '"int"'
    assert Registry.seen == [("/schemas/ids/7", "Basic YW5uOnBhOnNz")]
    with pytest.raises(InvalidInput, match="no schema 11"):
        client.schema_text(11)
    told = set()
    silent = SchemaRegistry({URL: f"http://127.0.0.1:{free_port()}"}, rules)
    for ask, number in ((client, 8), (client, 9), (client, 10), (silent, 7)):
        with pytest.raises(Unavailable) as refused:
            ask.schema_text(number)
        told.add(str(refused.value).replace(silent._registries[0][0], "U").replace(f"http://{registry}", "U"))
    assert len(told) == 1
    assert not {"BANNER", "pa:ss", "ann"} & set(str(told).split())


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1/",
        "http://169.254.169.254/",
        "file:///etc/passwd",
        "http://0/",
        "http://[::1",
        "ftp://localhost/",
        "",
    ],
)
def test_a_registry_that_nothing_allows_is_refused_when_the_table_is_made(url: str) -> None:
    prop = {"stream.redis.decoder.class.name": "confluent-avro", f"stream.redis.decoder.prop.{URL}": url or " "}
    with pytest.raises(InvalidInput):
        check_stream(redis_config("", **prop), stream_access("redis://localhost:1/0", loopback=True))


def test_a_registry_below_a_root_is_asked_and_its_neighbour_is_not(registry: str) -> None:
    rules = Rules(Kind.REGISTRY, [f"http://{registry}/team/"])
    assert SchemaRegistry({URL: f"http://{registry}/team"}, rules).schema_text(7) == '"int"'
    with pytest.raises(InvalidInput):
        SchemaRegistry({URL: f"http://{registry}/other"}, rules)


def test_redis_over_tls_checks_the_name_in_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str | None] = []

    def wrap(_: ssl.SSLContext, link: socket.socket, *, server_hostname: str | None = None, **__: Any) -> socket.socket:
        names.append(server_hostname)
        raise OSError("enough")

    monkeypatch.setattr(ssl.SSLContext, "wrap_socket", wrap)
    with listening() as (port, _):
        pool = redis_pool(f"rediss://localhost:{port}/0", stream_access(loopback=True), 1.0)
        with pytest.raises(redis.ConnectionError):
            pool.make_connection().connect()
    assert set(names) == {"localhost"}
