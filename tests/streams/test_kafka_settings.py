"""Settings of a Kafka client in a stream config: what is allowed is passed on typed, all else is refused by name."""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from segments.domain.realtime.streams.jaas import parse_jaas
from segments.domain.realtime.streams.kafka_settings import ALLOWED, IGNORED, RENAMED, check_client
from segments.domain.realtime.streams.stream_config import StreamConfig, parse_stream_config
from segments.errors import InvalidInput
from segments.gateways.streams import open_stream, stream_access
from segments.gateways.streams.kafka_settings import client_settings
from tests.real_parts import free_port

PROP = "stream.kafka.consumer.prop."
JAAS = r'org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="a \"b\" c";'


def config_of(**keys: str) -> StreamConfig:
    own = {"streamType": "kafka", "stream.kafka.topic.name": "t", "stream.kafka.decoder.class.name": "json"}
    return parse_stream_config({**own, **keys})


def settings(*roots: str, **keys: str) -> dict[str, Any]:
    return client_settings(config_of(**keys), roots)


def test_a_java_login_becomes_user_and_password() -> None:
    found = settings(**{"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": JAAS})
    assert (found["sasl.username"], found["sasl.password"], found["sasl.mechanisms"]) == (
        "ann",
        'a "b" c',
        "SCRAM-SHA-256",
    )
    assert found["security.protocol"] == "sasl_ssl"
    assert "sasl.jaas.config" not in found


def test_consumer_properties_are_passed_on_but_offsets_are_never_committed_there() -> None:
    found = settings(**{PROP + "fetch.max.wait.ms": "7", "enable.auto.commit": "true", "group.id": "theirs"})
    assert found["fetch.wait.max.ms"] == 7
    assert found["enable.auto.commit"] is False
    assert found["group.id"] != "theirs"


@pytest.mark.parametrize("prefix", ["", PROP])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("plugin.library.paths", "/tmp/evil"),
        ("ssl.engine.location", "/tmp/evil.so"),
        ("ssl.providers", "evil"),
        ("sasl.kerberos.kinit.cmd", "touch /tmp/evil"),
        ("sasl.kerberos.keytab", "/etc/shadow"),
        ("sasl.kerberos.principal", "$(touch /tmp/evil)"),
        ("sasl.kerberos.service.name", "kafka"),
        ("sasl.oauthbearer.token.endpoint.url", "http://169.254.169.254/"),
        ("sasl.oauthbearer.method", "oidc"),
        ("https.ca.location", "/etc/passwd"),
        ("metadata.broker.list", "10.0.0.1:22"),
        ("debug", "all"),
        ("enable.partition.eof", "true"),
        ("statistics.interval.ms", "1"),
        ("PLUGIN.LIBRARY.PATHS", "/tmp/evil"),
        ("no.such.key", "1"),
    ],
)
def test_a_setting_that_is_not_on_the_list_is_refused_by_name_before_a_client_is_built(
    prefix: str, key: str, value: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_client(config_of(**{prefix + key: value}))
    assert key in str(refused.value)
    assert "fetch.min.bytes" in refused.value.remedy
    with pytest.raises(InvalidInput):  # a config that was stored before there was a list
        open_stream(config_of(**{prefix + key: value}), stream_access(kafka_bootstrap=f"127.0.0.1:{free_port()}"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("fetch.min.bytes", "0"),
        ("fetch.min.bytes", "1e3"),
        ("fetch.min.bytes", "9" * 5000),
        ("queued.max.messages.kbytes", "2097151"),
        ("check.crcs", "yes"),
        ("security.protocol", "telnet"),
        ("sasl.mechanism", "GSSAPI"),
        ("sasl.mechanism", "OAUTHBEARER"),
        ("isolation.level", "any"),
        ("client.rack", "a\nb"),
        ("client.rack", ""),
        ("ssl.cipher.suites", "x" * 5000),
        ("ssl.truststore.certificates", "x" * 500_000),
    ],
)
def test_a_value_that_does_not_fit_is_refused_and_the_message_says_what_does(key: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=key.replace(".", r"\.")) as refused:
        check_client(config_of(**{PROP + key: value}))
    assert len(str(refused.value)) < 400


def test_a_login_without_a_mechanism_is_refused_because_the_default_would_run_a_command() -> None:
    with pytest.raises(InvalidInput, match=r"sasl\.mechanism"):
        check_client(config_of(**{"security.protocol": "SASL_PLAINTEXT"}))


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_every_allowed_setting_is_one_that_the_client_takes_at_both_ends_of_its_range(
    name: str, tmp_path: Path
) -> None:
    setting = ALLOWED[name]
    if setting.kind in ("file", "pem", "text"):
        return  # their content is judged when it is used
    values = {"whole": [setting.low, setting.high], "flag": ["true", "FALSE"], "choice": list(setting.choices)}[
        setting.kind
    ]
    beside = {
        "security.protocol": {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"},
        "receive.message.max.bytes": {"fetch.max.bytes": "1000000", "message.max.bytes": "1000"},
        "fetch.max.bytes": {"message.max.bytes": "1000"},
        "message.max.bytes": {"fetch.max.bytes": str(256 << 20)},
        "reconnect.backoff.ms": {"reconnect.backoff.max.ms": "3600000"},
        "reconnect.backoff.max.ms": {"reconnect.backoff.ms": "0"},
    }.get(name, {})
    if name == "receive.message.max.bytes":
        values = [1_100_000, setting.high]
    for value in values:
        Consumer({**settings(**{**beside, name: str(value)}), "bootstrap.servers": "127.0.0.1:1"}).close()


def test_settings_of_the_java_client_that_mean_nothing_here_are_taken_and_left_alone() -> None:
    assert not IGNORED & ALLOWED.keys()
    assert settings(**dict.fromkeys(IGNORED, "x")).keys() == settings().keys()
    assert set(RENAMED.values()) <= ALLOWED.keys()


def test_files_lie_below_a_configured_folder_after_links_are_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "files", tmp_path / "secret.pem"
    root.mkdir()
    (root / "ca.pem").write_text("x")
    outside.write_text("x")
    (root / "link.pem").symlink_to(outside)
    (root / "up").symlink_to(tmp_path)
    good = settings(str(root), **{"ssl.truststore.location": f"{root}/ca.pem"})
    assert good["ssl.ca.location"] == f"{root}/ca.pem"
    told = set()
    for path in (
        str(outside),
        f"{root}/link.pem",
        f"{root}/up/secret.pem",
        f"{root}/../secret.pem",
        "/etc/passwd",
        "/nothing/there.pem",
        "ca.pem",
        f"{root}",
        "probe",
        f"{root}/up/nothing.pem",
    ):
        for key in (
            "ssl.ca.location",
            "ssl.certificate.location",
            "ssl.key.location",
            "ssl.crl.location",
            "ssl.keystore.location",
        ):
            with pytest.raises(InvalidInput, match=r"ssl\..*location") as refused:
                settings(str(root), **{key: path, "ssl.keystore.type": "PKCS12"})
            told.add(re.sub(r"ssl\.\w+\.location", "KEY", str(refused.value)))
    assert len(told) == 1, "a refusal must not tell which files there are"
    with pytest.raises(InvalidInput, match="PINOTADMIN_STREAM_FILE_ROOTS"):
        settings(**{"ssl.ca.location": f"{root}/ca.pem"})


def test_key_stores_are_passed_on_where_they_can_be_read(tmp_path: Path) -> None:
    found = settings(str(tmp_path), **{"ssl.keystore.location": f"{tmp_path}/me.p12", "ssl.keystore.type": "PKCS12"})
    assert found["ssl.keystore.location"] == f"{tmp_path}/me.p12"
    found = settings(str(tmp_path), **{"ssl.keystore.location": f"{tmp_path}/me.pem"})
    assert found["ssl.certificate.location"] == found["ssl.key.location"] == f"{tmp_path}/me.pem"
    with pytest.raises(InvalidInput, match="Java key store"):
        settings(str(tmp_path), **{"ssl.truststore.location": f"{tmp_path}/ca.jks"})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        (JAAS, {"username": "ann", "password": 'a "b" c'}),
        (
            "a.PlainLoginModule required\n username = ann\n password='it''s' debug=true;",
            {"username": "ann", "password": "it"},
        ),
        ('PlainLoginModule required username="=;" password="" ;', {"username": "=;", "password": ""}),
    ],
)
def test_the_login_text_of_the_java_client(text: str, found: dict[str, str]) -> None:
    assert parse_jaas(text) == found


@pytest.mark.parametrize(
    "text",
    [
        'com.sun.security.auth.module.JndiLoginModule required user.provider.url="ldap://evil/x";',
        'com.sun.security.auth.module.Krb5LoginModule required keyTab="/x";',
        'a.PlainLoginModule required username="open;',
        "a.PlainLoginModule required username=;",
        "=",
        "x" * 30_000,
    ],
)
def test_another_login_text_is_refused_and_nothing_of_it_is_repeated(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_jaas(text)
    assert "evil" not in str(refused.value)
    assert "open" not in str(refused.value)


@pytest.mark.parametrize("piece", ['a="', "a=", '\\"', "a b=c ", " "])
def test_the_cost_of_a_login_text_grows_with_its_length_only(piece: str) -> None:
    text = "PlainLoginModule " + piece * (18_000 // len(piece))
    begin = time.perf_counter()
    with contextlib.suppress(InvalidInput):
        parse_jaas(text)
    assert time.perf_counter() - begin < 0.5
