"""What is a secret in a config, what is shown instead, and what becomes of it when the masked config comes back."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from segments.domain.tables.kept_secrets import keep_secrets
from segments.domain.tables.secret_masks import mask, secret_leaves, without_secrets
from segments.errors import InvalidInput
from segments.secret_texts import MASK, is_secret_key, mask_text

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="pass-1";'
KAFKA = {
    "streamType": "kafka",
    "stream.kafka.topic.name": "t",
    "stream.kafka.broker.list": "kafka:9092",
    "stream.kafka.decoder.prop.schema.registry.rest.url": "https://ann:pass-2@registry:8081/x",
    "stream.kafka.decoder.prop.basic.auth.user.info": "ann:pass-3",
    "sasl.mechanism": "PLAIN",
    "security.protocol": "SASL_SSL",
    "sasl.jaas.config": JAAS,
    "ssl.key.pem": "pass-4",
    "ssl.keystore.password": "pass-5",
    "realtime.segment.flush.threshold.rows": "1000",
}
REDIS = {"streamType": "redis", "stream.redis.topic.name": "r", "stream.redis.url": "redis://:pass-6@redis:6379/0"}
CONFIG: dict[str, Any] = {
    "tableName": "t",
    "tableIndexConfig": {"streamConfigs": KAFKA, "noDictionaryConfig": {"token": "SNAPPY"}},
    "ingestionConfig": {
        "streamIngestionConfig": {"streamConfigMaps": [REDIS, KAFKA]},
        "batchIngestionConfig": {
            "batchConfigMaps": [
                {"inputDirURI": "s3://b/x", "input.fs.prop.accessKey": "pass-7", "input.fs.prop.secretKey": "pass-8"}
            ]
        },
    },
    "task": {
        "taskTypeConfigsMap": {"SegmentGenerationAndPushTask": {"push.authToken": "pass-9", "tableMaxNumTasks": "1"}}
    },
    "metadata": {
        "customConfigs": {"notes": json.dumps({"credentials": {"a": ["pass-10"]}, "url": "http://h/"}), "tokens": 12}
    },
}


def copied(config: Any) -> Any:
    return json.loads(json.dumps(config))


def at(config: Any, *path: Any) -> Any:
    for part in path:
        config = config[part]
    return config


def test_no_secret_is_left_in_a_masked_config_and_nothing_else_is_changed() -> None:
    shown = mask(CONFIG)
    assert "pass-" not in json.dumps(shown)
    assert at(shown, "tableIndexConfig", "streamConfigs", "sasl.jaas.config") == MASK
    assert at(shown, "tableIndexConfig", "streamConfigs", "stream.kafka.broker.list") == "kafka:9092"
    assert (
        at(shown, "ingestionConfig", "streamIngestionConfig", "streamConfigMaps", 0, "stream.redis.url")
        == f"redis://:{MASK}@redis:6379/0"
    )
    assert at(shown, "tableIndexConfig", "noDictionaryConfig") == {"token": "SNAPPY"}
    assert at(shown, "metadata", "customConfigs", "tokens") == 12
    assert at(shown, "task", "taskTypeConfigsMap", "SegmentGenerationAndPushTask", "tableMaxNumTasks") == "1"
    assert mask(shown) is shown
    open_config = {"tableName": "t", "a": [1, {"b": "http://h/x@y"}]}
    assert mask(open_config) is open_config
    assert len(list(secret_leaves(CONFIG))) == 15


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "stream.kafka.consumer.prop.sasl.password",
        "sasl.jaas.config",
        "sasl.oauthbearer.config",
        "secretKey",
        "accessKey",
        "input.fs.prop.secretKey",
        "keytab",
        "input.fs.prop.jsonKey",
        "fs.s3a.encryption.key",
        "authToken",
        "security_token",
        "credentials",
        "ssl.keystore.key",
        "ssl.key.pem",
        "privateKey",
        "basic.auth.user.info",
        "sasl.login.refresh.window",
        "api-key",
        "Authorization",
        "connectionString",
    ],
)
def test_keys_that_name_a_secret(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize(
    "key",
    [
        "sasl.mechanism",
        "consumer.prop.sasl.mechanisms",
        "sasl.username",
        "tokenizer",
        "primaryKeyColumns",
        "ssl.ca.location",
        "url",
    ],
)
def test_keys_that_name_none(key: str) -> None:
    assert not is_secret_key(key)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Redis at redis://:pw@h:1/0 is away", f"Redis at redis://:{MASK}@h:1/0 is away"),
        ("redis://ann:p/w@h:1/0", f"redis://ann:{MASK}@h:1/0"),
        ("http://h/x?token=abc&n=1", f"http://h/x?token={MASK}&n=1"),
        ("https://b.s3/x?X-Amz-Signature=abc&X-Amz-Date=1", f"https://b.s3/x?X-Amz-Signature={MASK}&X-Amz-Date=1"),
        (JAAS, JAAS.replace("pass-1", MASK)),
        (json.dumps({"e": JAAS}), json.dumps({"e": JAAS}).replace("pass-1", MASK)),
        ("a:1 http://h:8080/a@b http://u@h/", "a:1 http://h:8080/a@b http://u@h/"),
        ("no secret", "no secret"),
    ],
)
def test_a_text_loses_the_passwords_of_its_addresses_and_logins(text: str, shown: str) -> None:
    assert mask_text(text) == shown


@pytest.mark.parametrize(
    "piece", ["://", "a://b@", "password=", 'password="', 'password=\\"', "?token=", "x@", "{[", "password='"]
)
def test_masking_takes_time_in_proportion_to_the_text(piece: str) -> None:
    def seconds(count: int) -> float:
        began = time.perf_counter()
        mask({"a": piece * count})
        return time.perf_counter() - began

    small = min(seconds(4_000) for _ in range(3))
    assert min(seconds(32_000) for _ in range(3)) < 8 * 4 * small + 0.05


def test_a_message_that_repeats_a_secret_word_by_word_loses_it() -> None:
    assert without_secrets("odd: 'pass-9' and pass-1x", CONFIG) == f"odd: '{MASK}' and pass-1x"
    assert without_secrets("it was cut: pass-", CONFIG) == f"it was cut: {MASK}"


def test_a_masked_config_that_comes_back_is_the_stored_one() -> None:
    assert keep_secrets(mask(CONFIG), CONFIG) == CONFIG
    assert keep_secrets(CONFIG, {}) is CONFIG


def test_entries_of_a_list_keep_their_own_secrets_when_they_move() -> None:
    config = {"ingestionConfig": {"streamIngestionConfig": {"streamConfigMaps": [REDIS, KAFKA]}}}
    given = mask(config)
    maps = given["ingestionConfig"]["streamIngestionConfig"]["streamConfigMaps"]
    moved = {**maps[1], "realtime.segment.flush.threshold.rows": "2000"}
    given = {"ingestionConfig": {"streamIngestionConfig": {"streamConfigMaps": [moved, maps[0]]}}}
    kept = keep_secrets(given, config)["ingestionConfig"]["streamIngestionConfig"]["streamConfigMaps"]
    assert kept == [{**KAFKA, "realtime.segment.flush.threshold.rows": "2000"}, REDIS]


def changed(*path: Any, value: Any) -> Any:
    given = copied(mask(CONFIG))
    at(given, *path[:-1])[path[-1]] = value
    return given


STREAM = ("tableIndexConfig", "streamConfigs")
LISTED = ("ingestionConfig", "streamIngestionConfig", "streamConfigMaps")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((*STREAM, "realtime.segment.flush.threshold.rows"), "5"),
        ((*STREAM, "sasl.jaas.config"), "a new one"),
        (("task", "taskTypeConfigsMap", "SegmentGenerationAndPushTask", "tableMaxNumTasks"), "1"),
        ((*LISTED, 0, "stream.redis.url"), f"redis://:{MASK}@redis:6379/1"),
        (("description",), "a ***** table"),
    ],
)
def test_what_says_nothing_of_where_a_secret_goes_may_change_next_to_it(path: tuple[Any, ...], value: Any) -> None:
    expected = copied(CONFIG)
    at(expected, *path[:-1])[path[-1]] = str(value).replace(f":{MASK}@", ":pass-6@")
    assert keep_secrets(changed(*path, value=value), CONFIG) == expected


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((*STREAM, "stream.kafka.broker.list"), "evil:9092"),
        ((*STREAM, "stream.kafka.broker.list"), "kafka:9092,evil:9092"),
        ((*STREAM, "security.protocol"), "SASL_PLAINTEXT"),
        ((*STREAM, "sasl.mechanism"), "SCRAM-SHA-256"),
        ((*STREAM, "streamType"), "redis"),
        ((*STREAM, "bootstrap.servers"), "evil:1"),
        ((*STREAM, "stream.kafka.decoder.prop.schema.registry.rest.url"), f"https://ann:{MASK}@evil:8081/x"),
        ((*STREAM, "stream.kafka.decoder.prop.schema.registry.rest.url"), "https://evil:8081/x"),
        ((*STREAM, "some.flush.setting"), "evil:99"),
        ((*LISTED, 0, "stream.redis.url"), f"redis://:{MASK}@evil:6379/0"),
        ((*LISTED, 0, "stream.redis.url"), f"rediss://:{MASK}@redis:6379/0"),
        ((*LISTED, 0, "stream.redis.url"), f"redis://:{MASK}@redis:6379@evil/0"),
        (("ingestionConfig", "batchIngestionConfig", "batchConfigMaps", 0, "input.fs.prop.endpoint"), "http://evil"),
        (("ingestionConfig", "batchIngestionConfig", "batchConfigMaps", 0, "input.fs.className"), "Evil"),
        (("metadata", "customConfigs", "notes"), json.dumps({"credentials": {"a": [MASK]}, "url": "http://evil/"})),
    ],
)
def test_a_kept_secret_never_goes_to_another_address(path: tuple[Any, ...], value: Any) -> None:
    with pytest.raises(InvalidInput, match="Give the secret again"):
        keep_secrets(changed(*path, value=value), CONFIG)


def test_leaving_an_address_out_is_a_change_of_it_too() -> None:
    given = copied(mask(CONFIG))
    del given["tableIndexConfig"]["streamConfigs"]["stream.kafka.broker.list"]
    with pytest.raises(InvalidInput, match=r"'tableIndexConfig.streamConfigs.stream.kafka.broker.list' has changed"):
        keep_secrets(given, CONFIG)


@pytest.mark.parametrize("stored", [None, {}, {"tableIndexConfig": {"streamConfigs": {}}}])
def test_a_mask_where_nothing_is_stored_is_refused_by_name(stored: Any) -> None:
    for key, value in (("sasl.jaas.config", MASK), ("stream.redis.url", f"redis://:{MASK}@h/")):
        with pytest.raises(
            InvalidInput, match=f"'tableIndexConfig.streamConfigs.{key}' is masked, and no secret is stored there"
        ):
            keep_secrets({"tableIndexConfig": {"streamConfigs": {key: value}}}, stored)


FILES = {
    "inputDirURI": "s3://lake/in",
    "input.fs.className": "org.apache.pinot.plugin.filesystem.S3PinotFS",
    "input.fs.prop.region": "eu-west-1",
    "input.fs.prop.login": "sales",
    **{f"input.fs.prop.{key}": f"hidden-{key}" for key in (
        "accessKey", "secretKey", "sessionToken", "sasToken", "clientSecret", "proxyPassword", "aesHexSecret"
    )},
}  # fmt: skip


def with_files(**changed: str) -> dict[str, Any]:
    return {"task": {"taskTypeConfigsMap": {"FileIngestionTask": {**FILES, "schedule": "0 0 * * * ?", **changed}}}}


def test_the_logins_of_file_systems_are_masked_and_what_names_them_is_not() -> None:
    shown = mask(with_files())["task"]["taskTypeConfigsMap"]["FileIngestionTask"]
    assert "hidden" not in str(shown)
    assert shown["input.fs.prop.login"] == "sales"
    assert shown["inputDirURI"] == "s3://lake/in"
    batch = {"ingestionConfig": {"batchIngestionConfig": {"batchConfigMaps": [FILES]}}}
    assert "hidden" not in str(mask(batch))
    assert "hidden" not in without_secrets(f"refused: {FILES['input.fs.prop.secretKey']}", with_files())


def test_the_login_of_a_file_system_is_kept_while_only_the_schedule_changes() -> None:
    given = mask(with_files(schedule="0 30 * * * ?"))
    assert keep_secrets(given, with_files()) == with_files(schedule="0 30 * * * ?")


@pytest.mark.parametrize(
    ("key", "value"),
    [("inputDirURI", "s3://another/in"), ("input.fs.prop.endpoint", "https://another.example"),
     ("input.fs.prop.region", "us-east-1"), ("input.fs.className", "x.GcsPinotFS"),
     ("input.fs.prop.accountName", "other")],
)  # fmt: skip
def test_the_login_of_a_file_system_goes_nowhere_else_by_a_mask(key: str, value: str) -> None:
    with pytest.raises(InvalidInput, match="secret"):
        keep_secrets(mask(with_files(**{key: value})), with_files())
