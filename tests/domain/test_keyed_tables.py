"""Upsert and dedup tables: what is refused says why, as Pinot does; what is let in means what it says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from segments.domain.tables import keyed_settings
from segments.domain.tables.edits.schema_rules import check_compatible
from segments.domain.tables.keyed_checks import check_keyed, check_unchanged
from segments.domain.tables.keyed_tables import KeyRules, key_rules
from segments.domain.tables.schema import Schema, parse_schema
from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.domain.tables.table_model import DedupConfig, UpsertConfig
from segments.errors import InvalidInput

COLUMNS = [
    {"name": "id", "dataType": "STRING"},
    {"name": "n", "dataType": "LONG"},
    {"name": "note", "dataType": "STRING"},
    {"name": "gone", "dataType": "BOOLEAN"},
    {"name": "tags", "dataType": "STRING", "singleValueField": False},
]
TIMES = [{"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH", "granularity": "1:MILLISECONDS"}]
STRICT = {"instanceSelectorType": "strictReplicaGroup"}


def schema_of(*keys: str, **more: Any) -> Schema:
    """Columns of several types; ``keys`` are the primary key."""
    body = {"schemaName": "k", "dimensionFieldSpecs": COLUMNS, "dateTimeFieldSpecs": TIMES, **more}
    return parse_schema({**body, **({"primaryKeyColumns": list(keys)} if keys else {})})


def config_of(kind: str = "REALTIME", **more: Any) -> TableConfig:
    """A table with strict routing."""
    parts = {"segmentsConfig": {"timeColumnName": "ts"}, "routing": STRICT, **more}
    return parse_table_config({"tableName": "k", "tableType": kind, **parts})


FULL = {"upsertConfig": {"mode": "FULL"}}
DEDUP = {"dedupConfig": {"dedupEnabled": True}}


def nullable(**keys: Any) -> dict[str, Any]:
    """The same with null handling."""
    return {**upsert(**keys), "tableIndexConfig": {"nullHandlingEnabled": True}}


def upsert(**keys: Any) -> dict[str, Any]:
    """An upsertConfig of mode FULL, or as given."""
    return {"upsertConfig": {"mode": "FULL", **keys}}


def partial(**keys: Any) -> dict[str, Any]:
    """One of mode PARTIAL with nulls on record."""
    return {**upsert(mode="PARTIAL", **keys), "tableIndexConfig": {"nullHandlingEnabled": True}}


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({**FULL, **DEDUP}, "either Upsert or Dedup enabled, but not both"),
        ({**FULL, "routing": {}}, "strict replica-group"),
        ({**FULL, "tenants": {"tagOverrideConfig": {"realtimeCompleted": "x_OFFLINE"}}}, "Invalid tenant tag override"),
        ({**FULL, "instanceAssignmentConfigMap": {"COMPLETED": {}}}, "COMPLETED instance partitions"),
        ({**FULL, "tierConfigs": []}, "cannot have multi-tiers"),
        ({**FULL, "tableIndexConfig": {"enableDefaultStarTree": True}}, "cannot have star-tree index"),
        ({**FULL, "tableIndexConfig": {"aggregateMetrics": True}}, "Metrics aggregation and upsert"),
        ({**DEDUP, "tableIndexConfig": {"aggregateMetrics": True}}, "Metrics aggregation and dedup"),
        (upsert(mode="SOME"), "upsertConfig.mode"),
        (upsert(hashFunction="SHA"), "hashFunction"),
        (upsert(comparisonColumns=["nope"]), "comparison column does not exist"),
        (upsert(comparisonColumns=["ts", "n"]), "Null handling must be enabled for upsert tables with several"),
        (nullable(comparisonColumns=["ts", "n", "ts"]), "has 3 comparison columns; each takes memory"),
        (nullable(comparisonColumns=["ts", "note"]), "numeric type"),
        (nullable(comparisonColumns=["ts", "n"], metadataTTL=5), "does not work with multiple comparison columns"),
        (upsert(comparisonColumns=["tags"]), "'tags' must be a single-valued column of a type that has an order"),
        (upsert(comparisonColumns=["note"], metadataTTL=5), "'note' must be .* numeric type, found: STRING"),
        (upsert(deleteRecordColumn="nope"), "specified in deleteRecordColumn does not exist"),
        (upsert(deleteRecordColumn="tags"), "must be a single-valued column"),
        (upsert(deleteRecordColumn="ts", outOfOrderRecordColumn="n"), "single-valued BOOLEAN column"),
        (upsert(outOfOrderRecordColumn="gone", dropOutOfOrderRecord=True), "shouldn't exist together"),
        (upsert(consistencyMode="SYNC", dropOutOfOrderRecord=True), "consistencyMode is SYNC"),
        (upsert(metadataTTL=5, snapshot="DISABLE"), "TTL must have snapshot enabled"),
        (upsert(deletedKeysTTL=5), "deleteRecordColumn set"),
        (upsert(metadataManagerClass="x.Y"), "metadataManagerClass"),
        (upsert(mode="PARTIAL"), "Null handling must be enabled"),
        (partial(partialUpsertStrategies={"n": "ADD"}), "partialUpsertStrategies.n"),
        (partial(partialUpsertStrategies={"id": "OVERWRITE"}), "primary key columns"),
        (partial(partialUpsertStrategies={"ts": "MAX"}), "time column"),
        (partial(partialUpsertStrategies={"nope": "MAX"}), "non-existing column: nope"),
        (partial(partialUpsertStrategies={"note": "INCREMENT"}), "non-numeric column: note"),
        (partial(partialUpsertStrategies={"note": "APPEND"}), "single-value column: note"),
        (partial(defaultPartialUpsertStrategy="UNION"), "UNION merger cannot be applied"),
        ({"dedupConfig": {"metadataTTL": 5, "dedupTimeColumn": "note"}}, "MetadataTTL must have dedupTimeColumn"),
    ],
)
def test_what_pinot_refuses_is_refused_with_its_reason(more: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        check_keyed(config_of(**more), schema_of("id"))


def test_a_table_without_a_primary_key_is_refused() -> None:
    with pytest.raises(InvalidInput, match="must have primary key columns in the schema"):
        check_keyed(config_of(**FULL), schema_of())
    with pytest.raises(InvalidInput, match="tags cannot be of multi-value type"):
        check_keyed(config_of(**FULL), schema_of("tags"))


def test_offline_tables_have_no_upsert_here_and_say_so() -> None:
    with pytest.raises(InvalidInput, match="only REALTIME tables"):
        check_keyed(config_of("OFFLINE", **FULL), schema_of("id"))


@pytest.mark.parametrize(
    ("more", "rules"),
    [
        ({"upsertConfig": {"mode": "NONE"}, "routing": {}}, None),
        ({"dedupConfig": {"dedupEnabled": False}, "routing": {}}, None),
        (FULL, KeyRules("FULL", ("id",), "ts")),
        (
            upsert(comparisonColumns=["n"], deleteRecordColumn="gone", dropOutOfOrderRecord=True, metadataTTL=7),
            KeyRules("FULL", ("id",), "n", "gone", drops_out_of_order=True, ttl=7),
        ),
        (
            partial(partialUpsertStrategies={"n": "increment"}, defaultPartialUpsertStrategy="IGNORE"),
            KeyRules("PARTIAL", ("id",), "ts", strategies={"n": "INCREMENT"}, default_strategy="IGNORE"),
        ),
        (DEDUP, KeyRules("DEDUP", ("id",), None)),
        ({"dedupConfig": {"metadataTTL": 5}}, KeyRules("DEDUP", ("id",), "ts", ttl=5)),
    ],
)
def test_settings_mean_what_they_say(more: dict[str, Any], rules: KeyRules | None) -> None:
    config, schema = config_of(**more), schema_of("id")
    check_keyed(config, schema)
    assert key_rules(config, schema) == rules


@pytest.mark.parametrize("data_type", ["TIMESTAMP", "BOOLEAN", "STRING", "JSON", "BIG_DECIMAL", "BYTES", "UUID"])
def test_rows_are_compared_by_values_of_any_type_that_has_an_order(data_type: str) -> None:
    own = {"name": "at", "dataType": data_type}
    config = config_of(**upsert(comparisonColumns=["at"]))
    check_keyed(config, schema_of("id", dimensionFieldSpecs=[*COLUMNS, own]))


def test_the_primary_key_of_a_schema_cannot_change() -> None:
    check_compatible(schema_of(), schema_of("id"))
    with pytest.raises(InvalidInput, match="primary key of schema 'k' cannot change from id"):
        check_compatible(schema_of("id"), schema_of("id", "n"))


def test_what_decides_between_rows_cannot_change_under_rows_that_are_there() -> None:
    check_unchanged(config_of(**FULL), config_of(**upsert(comparisonColumns=["ts"], metadataTTL=9)))
    for after in (
        {},
        DEDUP,
        upsert(mode="PARTIAL"),
        upsert(comparisonColumns=["n"]),
        upsert(deleteRecordColumn="gone"),
    ):
        with pytest.raises(InvalidInput, match="cannot change"):
            check_unchanged(config_of(**FULL), config_of(**after))


@pytest.mark.parametrize(
    ("section", "model"), [(keyed_settings.UPSERT, UpsertConfig), (keyed_settings.DEDUP, DedupConfig)]
)
def test_every_key_is_honoured_refused_or_named_as_without_effect(section: str, model: type[Any]) -> None:
    kinds = [
        set(keyed_settings.HONOURED[section]),
        set(keyed_settings.REFUSED[section]),
        set(keyed_settings.WITHOUT_EFFECT[section]),
    ]
    known = [field.encode_name for field in msgspec.structs.fields(model)]
    assert sorted(key for kind in kinds for key in kind) == sorted(known)


@pytest.mark.parametrize(("section", "key"), [(s, k) for s, found in keyed_settings.REFUSED.items() for k in found])
def test_what_cannot_be_honoured_is_refused_with_key_and_reason(section: str, key: str) -> None:
    value: Any = {"metadataManagerClass": "org.x.Y", "partialUpsertMergerClass": "org.x.Y"}.get(key, True)
    value = [{"columnName": "n", "transformFunction": "n + 1"}] if key.endswith("TransformConfigs") else value
    more = (
        partial(**{key: value}) if section == keyed_settings.UPSERT else {section: {"dedupEnabled": True, key: value}}
    )
    with pytest.raises(InvalidInput) as caught:
        check_keyed(config_of(**more), schema_of("id"))
    assert f"{section}.{key}" in caught.value.message
    assert keyed_settings.REFUSED[section][key] in caught.value.message


def test_keys_without_effect_are_named_and_others_are_not() -> None:
    config = config_of(**upsert(hashFunction="MD5", enableSnapshot=True, metadataTTL=5, comparisonColumn="ts", typo=1))
    found = keyed_settings.ineffective(config)
    assert list(found) == ["upsertConfig.hashFunction", "upsertConfig.enableSnapshot", "upsertConfig.typo"]
    assert found["upsertConfig.typo"] == "no such key is known"
    assert keyed_settings.ineffective(config_of(**DEDUP)) == {}
