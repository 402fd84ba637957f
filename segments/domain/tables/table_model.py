"""Pinot's table config as typed models: every key that Pinot documents, with the type that Pinot reads it as; all of
them may be missing.

Keys are named as Pinot's, in snake_case. What a key means stands where it is used. ``Any`` is where Pinot itself takes
free JSON.
"""

from __future__ import annotations

from typing import Any

import msgspec

from segments.domain.formats.json_model import Flag, Long, Model, Real, Text, Whole

Texts = list[Text | None]
TextMap = dict[str, Text | None]
Objects = list[dict[str, Any] | None]
ObjectMap = dict[str, dict[str, Any] | None]


class CompletionConfig(Model):
    """``segmentsConfig.completionConfig``."""

    completion_mode: Text | None = None


class SegmentsConfig(Model):
    """``segmentsConfig``: retention, replication, time column."""

    replication: Whole | None = None
    replicas_per_partition: Whole | None = None
    schema_name: Text | None = None
    time_column_name: Text | None = None
    time_type: Text | None = None
    retention_time_unit: Text | None = None
    retention_time_value: Text | None = None
    deleted_segments_retention_period: Text | None = None
    replaced_segments_retention_period: Text | None = None
    lineage_entry_cleanup_retention_period: Text | None = None
    untracked_segments_deletion_batch_size: Text | None = None
    untracked_segments_retention_time_unit: Text | None = None
    untracked_segments_retention_time_value: Text | None = None
    segment_push_type: Text | None = None
    segment_push_frequency: Text | None = None
    segment_assignment_strategy: Text | None = None
    peer_segment_download_scheme: Text | None = None
    crypter_class_name: Text | None = None
    minimize_data_movement: Flag | None = None
    completion_config: CompletionConfig | None = None
    replica_group_strategy_config: dict[str, Any] | None = None


class TagOverrideConfig(Model):
    """``tenants.tagOverrideConfig``."""

    realtime_consuming: Text | None = None
    realtime_completed: Text | None = None


class TenantsConfig(Model):
    """``tenants``."""

    broker: Text | None = None
    server: Text | None = None
    tag_override_config: TagOverrideConfig | None = None


class ColumnPartition(Model):
    """How the values of one column are partitioned."""

    function_name: Text | None = None
    num_partitions: Whole | None = None
    function_config: TextMap | None = None


class SegmentPartitionConfig(Model):
    """``tableIndexConfig.segmentPartitionConfig``."""

    column_partition_map: dict[str, ColumnPartition | None] | None = None


class IndexConfig(Model):
    """``tableIndexConfig``: indexes of columns, stream configs in their old place."""

    inverted_index_columns: Texts | None = None
    range_index_columns: Texts | None = None
    range_index_version: Whole | None = None
    json_index_columns: Texts | None = None
    json_index_configs: ObjectMap | None = None
    bloom_filter_columns: Texts | None = None
    bloom_filter_configs: ObjectMap | None = None
    no_dictionary_columns: Texts | None = None
    no_dictionary_config: TextMap | None = None
    on_heap_dictionary_columns: Texts | None = None
    var_length_dictionary_columns: Texts | None = None
    use_var_length_dictionary: Flag | None = None
    sorted_column: list[str | None] | str | None = None
    load_mode: Text | None = None
    segment_format_version: Text | None = None
    segment_name_generator_type: Text | None = None
    column_min_max_value_generator_mode: Text | None = None
    null_handling_enabled: Flag | None = None
    aggregate_metrics: Flag | None = None
    auto_generated_inverted_index: Flag | None = None
    create_inverted_index_during_segment_generation: Flag | None = None
    enable_default_star_tree: Flag | None = None
    enable_dynamic_star_tree_creation: Flag | None = None
    optimize_dictionary: Flag | None = None
    optimize_dictionary_for_metrics: Flag | None = None
    no_dictionary_size_ratio_threshold: Real | None = None
    no_dictionary_cardinality_ratio_threshold: Real | None = None
    star_tree_index_configs: Objects | None = None
    multi_column_text_index_config: dict[str, Any] | None = None
    stream_configs: TextMap | None = None
    segment_partition_config: SegmentPartitionConfig | None = None
    tier_overwrites: dict[str, Any] | None = None

    @property
    def partitioned(self) -> dict[str, ColumnPartition]:
        """How values are partitioned, by partitioned column."""
        found = self.segment_partition_config and self.segment_partition_config.column_partition_map
        return {column: one for column, one in (found or {}).items() if one is not None}


class CustomMetadata(Model):
    """``metadata``: texts by key; ours begin with ``pinotadmin.``"""

    custom_configs: TextMap | None = None


class QuotaConfig(Model):
    """``quota``."""

    storage: Text | None = None
    max_queries_per_second: Text | None = None
    rate_limiter_unit: Text | None = None
    rate_limiter_duration: Real | None = None


class BatchIngestionConfig(Model):
    """``ingestionConfig.batchIngestionConfig``."""

    segment_ingestion_type: Text | None = None
    segment_ingestion_frequency: Text | None = None
    consistent_data_push: Flag | None = None
    batch_config_maps: list[TextMap | None] | None = None


class StreamIngestionConfig(Model):
    """``ingestionConfig.streamIngestionConfig``."""

    stream_config_maps: list[TextMap] | None = None
    pauseless_consumption_enabled: Flag | None = None
    column_major_segment_builder_enabled: Flag | None = None
    track_filtered_message_offsets: Flag | None = None
    enforce_consumption_in_order: Flag | None = None
    use_ideal_state_to_calculate_server_assignment: Flag | None = None
    parallel_segment_consumption_policy: Text | None = None
    disaster_recovery_mode: Text | None = None
    realtime_offset_auto_reset_handler_class: Text | None = None


class FilterConfig(Model):
    """``ingestionConfig.filterConfig``: rows for which the expression is true are left out."""

    filter_function: Text | None = None


class TransformConfig(Model):
    """A column that is computed while rows are read."""

    column_name: Text | None = None
    transform_function: Text | None = None


class IngestionConfig(Model):
    """``ingestionConfig``."""

    batch_ingestion_config: BatchIngestionConfig | None = None
    stream_ingestion_config: StreamIngestionConfig | None = None
    filter_config: FilterConfig | None = None
    transform_configs: list[TransformConfig | None] | None = None
    enrichment_configs: Objects | None = None
    aggregation_configs: Objects | None = None
    complex_type_config: dict[str, Any] | None = None
    schema_conforming_transformer_config: dict[str, Any] | None = None
    schema_conforming_transformer_v2_config: dict[str, Any] | None = msgspec.field(
        default=None, name="schemaConformingTransformerV2Config"
    )
    continue_on_error: Flag | None = None
    row_time_value_check: Flag | None = None
    segment_time_value_check: Flag | None = None
    retry_on_segment_build_precheck_failure: Flag | None = None


class ColumnIndex(Model):
    """One of the ``indexes`` of a column; only that of kind ``forward`` has a codec."""

    compression_codec: Text | None = None


class FieldConfig(Model):
    """One item of ``fieldConfigList``: encoding and indexes of a column."""

    name: Text | None = None
    encoding_type: Text | None = None
    index_type: Text | None = None
    index_types: Texts | None = None
    indexes: dict[str, ColumnIndex | None] | None = None
    compression_codec: Text | None = None
    timestamp_config: dict[str, Any] | None = None
    properties: TextMap | None = None
    tier_overwrites: dict[str, Any] | None = None


class UpsertConfig(Model):
    """``upsertConfig``."""

    mode: Text | None = None
    hash_function: Text | None = None
    partial_upsert_strategies: TextMap | None = None
    default_partial_upsert_strategy: Text | None = None
    comparison_column: Text | None = None
    comparison_columns: Texts | None = None
    delete_record_column: Text | None = None
    out_of_order_record_column: Text | None = None
    metadata_ttl: Real | None = msgspec.field(default=None, name="metadataTTL")
    deleted_keys_ttl: Real | None = msgspec.field(default=None, name="deletedKeysTTL")
    metadata_manager_class: Text | None = None
    metadata_manager_configs: TextMap | None = None
    snapshot: Text | None = None
    preload: Text | None = None
    enable_snapshot: Flag | None = None
    enable_preload: Flag | None = None
    drop_out_of_order_record: Flag | None = None
    consistency_mode: Text | None = None
    new_segment_tracking_time_ms: Long | None = None
    upsert_view_refresh_interval_ms: Long | None = None
    allow_partial_upsert_consumption_during_commit: Flag | None = None
    enable_deleted_keys_compaction_consistency: Flag | None = None
    partial_upsert_merger_class: Text | None = None
    post_partial_upsert_transform_configs: list[TransformConfig | None] | None = None


class DedupConfig(Model):
    """``dedupConfig``."""

    dedup_enabled: Flag | None = None
    hash_function: Text | None = None
    dedup_time_column: Text | None = None
    metadata_ttl: Real | None = msgspec.field(default=None, name="metadataTTL")
    metadata_manager_class: Text | None = None
    metadata_manager_configs: TextMap | None = None
    preload: Text | None = None
    enable_preload: Flag | None = None
    allow_dedup_consumption_during_commit: Flag | None = None
    ignore_non_default_tiers: Text | None = None


class TaskConfig(Model):
    """``task``: settings of minion tasks, {task type: {key: text}}."""

    task_type_configs_map: dict[str, TextMap | None] | None = None


class RoutingConfig(Model):
    """``routing``."""

    routing_table_builder_name: Text | None = None
    segment_pruner_types: Texts | None = None
    instance_selector_type: Text | None = None


class QueryConfig(Model):
    """``query``."""

    timeout_ms: Long | None = None
    disable_groovy: Flag | None = None
    use_approximate_function: Flag | None = None
    expression_override_map: TextMap | None = None
    max_query_response_size_bytes: Long | None = None
    max_server_response_size_bytes: Long | None = None


class DimensionTableConfig(Model):
    """``dimensionTableConfig``."""

    disable_preload: Flag | None = None
    error_on_duplicate_primary_key: Flag | None = None


class TableModel(Model):
    """The whole table config."""

    table_name: Text | None = None
    table_type: Text | None = None
    is_dim_table: Flag | None = None
    is_materialized_view: Flag | None = None
    description: Text | None = None
    segments_config: SegmentsConfig | None = None
    tenants: TenantsConfig | None = None
    table_index_config: IndexConfig | None = None
    metadata: CustomMetadata | None = None
    quota: QuotaConfig | None = None
    task: TaskConfig | None = None
    routing: RoutingConfig | None = None
    query: QueryConfig | None = None
    ingestion_config: IngestionConfig | None = None
    field_config_list: list[FieldConfig | None] | None = None
    upsert_config: UpsertConfig | None = None
    dedup_config: DedupConfig | None = None
    dimension_table_config: DimensionTableConfig | None = None
    instance_assignment_config_map: ObjectMap | None = None
    instance_partitions_map: TextMap | None = None
    segment_assignment_config_map: ObjectMap | None = None
    tier_configs: Objects | None = None
    tuner_configs: Objects | None = None
