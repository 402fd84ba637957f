"""What is refused of upsert and dedup tables: as Pinot does it, and what this cluster does not do."""

from __future__ import annotations

from typing import Final

from segments.domain.tables.keyed_settings import DEDUP, REFUSED, UPSERT
from segments.domain.tables.keyed_tables import comparison_columns, is_dedup, is_keyed, is_upsert
from segments.domain.tables.schema import NUMERIC_STORED, FieldSpec, Schema
from segments.domain.tables.table_config import TableConfig
from segments.domain.tables.table_model import DedupConfig, UpsertConfig
from segments.errors import InvalidInput
from segments.names import REALTIME, shown

STRATEGIES: Final = ("APPEND", "IGNORE", "INCREMENT", "MAX", "MIN", "OVERWRITE", "FORCE_OVERWRITE", "UNION")
_MODES: Final = ("FULL", "PARTIAL", "NONE")
_HASHES: Final = ("NONE", "MD5", "MURMUR3", "UUID")
#: Comparison columns with which a key takes at most 150 bytes.
_MOST_COMPARED: Final = 3
#: Stored types whose values have an order.
_COMPARED: Final = NUMERIC_STORED | {"BIG_DECIMAL", "STRING", "BYTES"}
_ROUTING: Final = "strictReplicaGroup"


def check_keyed(config: TableConfig, schema: Schema) -> None:
    """InvalidInput for what Pinot refuses of upsert and dedup tables, and for what this cluster does not do."""
    _check_words(config)
    if not is_keyed(config):
        return
    if is_upsert(config) and is_dedup(config):
        raise InvalidInput("A table can have either Upsert or Dedup enabled, but not both")
    if config.table.type != REALTIME:
        raise InvalidInput(
            f"Table '{config.table}' asks for upsert or dedup, which only REALTIME tables have on this cluster.",
            remedy="Leave upsertConfig and dedupConfig out.",
        )
    _check_key(schema)
    _check_placement(config)
    upsert, dedup = config.model.upsert_config, config.model.dedup_config
    if is_upsert(config) and upsert is not None:
        _check_upsert(config, schema, upsert)
    elif dedup is not None:
        _check_dedup(config, schema, dedup)


def check_unchanged(before: TableConfig, after: TableConfig) -> None:
    """Which row of a key counts cannot change under rows that are there. InvalidInput naming what did."""
    old, new = _fixed(before), _fixed(after)
    changed = [key for key in old if old[key] != new[key]]
    if changed:
        raise InvalidInput(
            f"{', '.join(changed)} of table '{after.table}' cannot change: its rows were made by the old setting.",
            remedy="Create another table with the new setting.",
        )


def _fixed(config: TableConfig) -> dict[str, object]:
    upsert = config.model.upsert_config if is_upsert(config) else None
    dedup = config.model.dedup_config if is_dedup(config) else None
    return {
        "upsertConfig.mode": (upsert.mode or "").upper() if upsert else None,
        "upsertConfig.comparisonColumns": comparison_columns(config, upsert) if upsert else None,
        "upsertConfig.deleteRecordColumn": upsert.delete_record_column if upsert else None,
        "upsertConfig.dropOutOfOrderRecord": bool(upsert.drop_out_of_order_record) if upsert else None,
        "upsertConfig.outOfOrderRecordColumn": upsert.out_of_order_record_column if upsert else None,
        "dedupConfig.dedupEnabled": dedup is not None,
        "dedupConfig.dedupTimeColumn": (dedup.dedup_time_column or config.time_column) if dedup else None,
    }


def _check_words(config: TableConfig) -> None:
    upsert, dedup = config.model.upsert_config, config.model.dedup_config
    if upsert is not None:
        _check_word("upsertConfig.mode", upsert.mode, _MODES)
        _check_word("upsertConfig.hashFunction", upsert.hash_function, _HASHES)
        _check_word("upsertConfig.defaultPartialUpsertStrategy", upsert.default_partial_upsert_strategy, STRATEGIES)
        for column, strategy in (upsert.partial_upsert_strategies or {}).items():
            _check_word(f"upsertConfig.partialUpsertStrategies.{column}", strategy or "", STRATEGIES)
        for key, word in (("snapshot", upsert.snapshot), ("preload", upsert.preload)):
            _check_word(f"upsertConfig.{key}", word, ("ENABLE", "DISABLE", "DEFAULT"))
        _check_word("upsertConfig.consistencyMode", upsert.consistency_mode, ("NONE", "SYNC", "SNAPSHOT"))
    if dedup is not None:
        _check_word("dedupConfig.hashFunction", dedup.hash_function, _HASHES)


def _check_word(key: str, word: str | None, known: tuple[str, ...]) -> None:
    if word is not None and word.upper() not in known:
        raise InvalidInput(f"'{shown(key)}' is '{shown(word)}'.", remedy=f"Use one of {', '.join(known)}.")


def _check_key(schema: Schema) -> None:
    if not schema.primary_keys:
        raise InvalidInput(
            "Upsert/Dedup table must have primary key columns in the schema",
            remedy=f"Name them in primaryKeyColumns of schema '{schema.name}'.",
        )
    for name in schema.primary_keys:
        if not schema.by_name[name].single_value:
            raise InvalidInput(f"Upsert/Dedup primary key column: {name} cannot be of multi-value type")


def _check_placement(config: TableConfig) -> None:
    """All segments of a partition are on the same servers, and a query reads them from one."""
    routing = config.model.routing
    if routing is None or (routing.instance_selector_type or "").lower() != _ROUTING.lower():
        raise InvalidInput(
            "Upsert/Dedup table must use strict replica-group (i.e. strictReplicaGroup) based routing",
            remedy='Set "routing": {"instanceSelectorType": "strictReplicaGroup"}.',
        )
    tags = config.model.tenants.tag_override_config if config.model.tenants else None
    if tags is not None and (tags.realtime_consuming is not None or tags.realtime_completed is not None):
        raise InvalidInput("Invalid tenant tag override used for Upsert/Dedup table")
    if "COMPLETED" in (config.model.instance_assignment_config_map or {}):
        raise InvalidInput("COMPLETED instance partitions can't be configured for upsert / dedup tables")


def _check_upsert(config: TableConfig, schema: Schema, upsert: UpsertConfig) -> None:
    if config.model.tier_configs is not None:
        raise InvalidInput("The upsert table cannot have multi-tiers")
    if config.index.star_tree_index_configs or config.index.enable_default_star_tree:
        raise InvalidInput("The upsert table cannot have star-tree index.")
    if config.ingestion.aggregation_configs or config.index.aggregate_metrics:
        raise InvalidInput("Metrics aggregation and upsert cannot be enabled together")
    _check_comparison(config, schema, upsert)
    _check_flag_columns(schema, upsert)
    _check_upsert_ttl(upsert)
    _check_not_here(config, UPSERT)
    _check_consistency(upsert)
    if (upsert.mode or "").upper() == "PARTIAL":
        _check_strategies(config, schema, upsert)


def _check_comparison(config: TableConfig, schema: Schema, upsert: UpsertConfig) -> None:
    listed = [str(c) for c in upsert.comparison_columns or () if c]
    for column in listed:
        if column not in schema.by_name:
            raise InvalidInput(
                "The comparison column does not exist on schema", remedy=f"Add '{shown(column)}' or name another."
            )
    if len(listed) > 1:
        _check_several(config, schema, upsert, listed)
    compared = comparison_columns(config, upsert) or ("",)
    has_ttl = (upsert.metadata_ttl or 0) > 0 or (upsert.deleted_keys_ttl or 0) > 0
    for name in compared:
        if len(compared) > 1:
            _check_numeric(schema, name, "Of several comparison columns each")
        elif has_ttl:
            _check_numeric(schema, name, "MetadataTTL / DeletedKeysTTL must have comparison column:")
        else:
            _check_comparable(schema, name)


def _check_several(config: TableConfig, schema: Schema, upsert: UpsertConfig, listed: list[str]) -> None:
    """What a row does not say is null, and is compared by the row before it."""
    if len(listed) > _MOST_COMPARED or len(set(listed)) < len(listed):
        raise InvalidInput(
            f"Table '{config.table}' has {len(listed)} comparison columns; each takes memory for every key.",
            remedy=f"Name at most {_MOST_COMPARED} in upsertConfig.comparisonColumns, each once.",
        )
    if not (schema.column_based_nulls or config.null_handling):
        raise InvalidInput(
            "Null handling must be enabled for upsert tables with several comparison columns",
            remedy="Set enableColumnBasedNullHandling in the schema or tableIndexConfig.nullHandlingEnabled.",
        )
    if (upsert.metadata_ttl or 0) > 0 or (upsert.deleted_keys_ttl or 0) > 0:
        raise InvalidInput("MetadataTTL / DeletedKeysTTL does not work with multiple comparison columns")


def _check_comparable(schema: Schema, name: str) -> None:
    spec = schema.by_name.get(name)
    if spec is None or not spec.single_value or spec.stored_type not in _COMPARED:
        raise InvalidInput(
            f"The comparison column '{shown(name)}' must be a single-valued column of a type that has an order.",
            remedy="Use a number, a TIMESTAMP, BIG_DECIMAL, STRING or BYTES.",
        )


def _check_numeric(schema: Schema, name: str | None, what: str) -> None:
    spec = schema.by_name.get(name or "")
    if spec is None or not spec.single_value or spec.stored_type not in NUMERIC_STORED:
        found = "" if spec is None else f", found: {spec.data_type}{'' if spec.single_value else ', multi-valued'}"
        raise InvalidInput(
            f"{what} '{shown(name or '')}' must be a single-valued column of a numeric type{found}.",
            remedy="Use INT, LONG, FLOAT, DOUBLE or TIMESTAMP.",
        )


def _check_flag_columns(schema: Schema, upsert: UpsertConfig) -> None:
    delete, late = upsert.delete_record_column, upsert.out_of_order_record_column
    if delete is not None:
        spec = schema.by_name.get(delete)
        if spec is None:
            raise InvalidInput(f"Column {shown(delete)} specified in deleteRecordColumn does not exist")
        if not spec.single_value:
            raise InvalidInput(f"The deleteRecordColumn - {delete} must be a single-valued column")
        if spec.data_type not in ("BOOLEAN", "STRING", "INT", "LONG", "FLOAT", "DOUBLE"):
            raise InvalidInput(f"The deleteRecordColumn - {delete} must be of type: String / Boolean / Numeric")
    if late is not None:
        if upsert.drop_out_of_order_record:
            raise InvalidInput(
                "outOfOrderRecordColumn and dropOutOfOrderRecord shouldn't exist together for upsert table"
            )
        spec = schema.by_name.get(late)
        if spec is None or not spec.single_value or spec.data_type != "BOOLEAN":
            raise InvalidInput("The outOfOrderRecordColumn must be a single-valued BOOLEAN column")


def _check_upsert_ttl(upsert: UpsertConfig) -> None:
    if (upsert.metadata_ttl or 0) > 0 and (upsert.snapshot or "").upper() == "DISABLE":
        raise InvalidInput("Upsert TTL must have snapshot enabled")
    if (upsert.deleted_keys_ttl or 0) > 0 and upsert.delete_record_column is None:
        raise InvalidInput("Deleted Keys TTL can only be enabled with deleteRecordColumn set.")


def _check_not_here(config: TableConfig, section: str) -> None:
    """Settings that would change rows if they were honoured."""
    given = config.body.get(section) or {}
    for key, reason in REFUSED[section].items():
        if given.get(key) not in (None, "", False, "false", []):
            raise InvalidInput(f"'{section}.{key}' cannot be honoured: {reason}.", remedy="Leave it out.")


def _check_consistency(upsert: UpsertConfig) -> None:
    if (upsert.consistency_mode or "NONE").upper() != "NONE" and (
        upsert.drop_out_of_order_record or upsert.out_of_order_record_column is not None
    ):
        raise InvalidInput(
            f"Out-of-order records cannot be dropped or marked when consistencyMode is {upsert.consistency_mode}."
        )


def _check_strategies(config: TableConfig, schema: Schema, upsert: UpsertConfig) -> None:
    if not (schema.column_based_nulls or config.null_handling):
        raise InvalidInput(
            "Null handling must be enabled for partial upsert tables",
            remedy="Set enableColumnBasedNullHandling in the schema or tableIndexConfig.nullHandlingEnabled.",
        )
    for column, strategy in (upsert.partial_upsert_strategies or {}).items():
        if column in schema.primary_keys:
            raise InvalidInput("Merger cannot be applied to primary key columns")
        if column in comparison_columns(config, upsert):
            raise InvalidInput(
                f"Merger cannot be applied to {'comparison' if upsert.comparison_columns else 'time'} column"
            )
        spec = schema.by_name.get(column)
        if spec is None:
            raise InvalidInput(f"Merger cannot be applied to non-existing column: {shown(column)}")
        _check_strategy((strategy or "").upper(), spec)
    _check_default_strategy(config, schema, upsert)


def _check_strategy(strategy: str, spec: FieldSpec) -> None:
    if strategy == "INCREMENT":
        if spec.stored_type not in NUMERIC_STORED or not spec.single_value:
            raise InvalidInput(f"INCREMENT merger cannot be applied to non-numeric column: {spec.name}")
        if spec.kind in ("DATE_TIME", "TIME"):
            raise InvalidInput(f"INCREMENT merger cannot be applied to date time column: {spec.name}")
    if strategy in ("APPEND", "UNION") and spec.single_value:
        raise InvalidInput(f"{strategy} merger cannot be applied to single-value column: {spec.name}")
    if strategy in ("MIN", "MAX") and not spec.single_value:
        raise InvalidInput(f"{strategy} merger cannot be applied to multi-value column: {spec.name}")
    if strategy in ("MIN", "MAX") and spec.stored_type in ("BIG_DECIMAL", "MAP"):
        raise InvalidInput(f"{strategy} merger cannot be applied to {spec.data_type} column here: {spec.name}")


def _check_default_strategy(config: TableConfig, schema: Schema, upsert: UpsertConfig) -> None:
    """It holds for all columns that are not listed: each must be of a kind that it can merge."""
    strategy = (upsert.default_partial_upsert_strategy or "OVERWRITE").upper()
    fixed = {*schema.primary_keys, *comparison_columns(config, upsert), *(upsert.partial_upsert_strategies or {})}
    for spec in schema.fields:
        if spec.name not in fixed:
            _check_strategy(strategy, spec)


def _check_dedup(config: TableConfig, schema: Schema, dedup: DedupConfig) -> None:
    if config.ingestion.aggregation_configs or config.index.aggregate_metrics:
        raise InvalidInput("Metrics aggregation and dedup cannot be enabled together")
    _check_not_here(config, DEDUP)
    if (dedup.metadata_ttl or 0) > 0:
        _check_numeric(schema, dedup.dedup_time_column or config.time_column, "MetadataTTL must have dedupTimeColumn:")
