"""Pinot's ingestion job specification as a typed model: every key with the type that Pinot reads it as; which are
refused, and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, get_args

import msgspec

from segments.domain.formats.json_model import Flag, Model, Text, Whole

#: Keys that a push here cannot honour, and why.
REFUSED: Final = {
    "tlsSpec": "files go to the deep store directly, no HTTP connection is made",
    "pushJobSpec.segmentUriPrefix": "segments are served from the deep store",
    "pushJobSpec.segmentUriSuffix": "segments are served from the deep store",
    "pushJobSpec.pushFileNamePattern": "a push registers exactly the segments that it builds",
}


#: Keys that are taken without effect: they describe where Pinot's own runners put files, or what they load.
WITHOUT_EFFECT: Final = (
    "outputDirURI",
    "overwriteOutput",
    "cleanUpOutputDir",
    "createMetadataTarGz",
    "executionFrameworkSpec.name",
    "executionFrameworkSpec.segmentGenerationJobRunnerClassName",
    "executionFrameworkSpec.segmentTarPushJobRunnerClassName",
    "executionFrameworkSpec.segmentUriPushJobRunnerClassName",
    "executionFrameworkSpec.segmentMetadataPushJobRunnerClassName",
    "executionFrameworkSpec.extraConfigs.stagingDir",
    "executionFrameworkSpec.extraConfigs.dependencyJarDir",
    "tableSpec.schemaURI",
    "tableSpec.tableConfigURI",
    "recordReaderSpec.configClassName",
    "recordReaderSpec.configs.quoteMode",
    "recordReaderSpec.configs.recordSeparator",
    "pinotClusterSpecs",
    "pushJobSpec.pushAttempts",
    "pushJobSpec.pushParallelism",
    "pushJobSpec.pushRetryIntervalMillis",
    "pushJobSpec.copyToDeepStoreForMetadataPush",
    "pushJobSpec.batchSegmentUpload",
    "pushJobSpec.segmentMetadataGenerationParallelism",
    "pushJobSpec.preferMetadataTarGz",
)


class ExtraConfigs(Model):
    """``extraConfigs`` of the execution framework and of the push: ours, but for the two folders, which are taken
    without effect.
    """

    staging_dir: Text | None = None
    dependency_jar_dir: Text | None = None
    segment_target_rows: Whole | None = None
    atomic_append: Flag | None = None
    strict_snapshot: Flag | None = None
    override_checks: Text | None = None
    error_rate: float | None = None


class ExecutionFramework(Model):
    """``executionFrameworkSpec``: which classes Pinot's runners load is taken without effect."""

    name: Text | None = None
    segment_generation_job_runner_class_name: Text | None = None
    segment_tar_push_job_runner_class_name: Text | None = None
    segment_uri_push_job_runner_class_name: Text | None = None
    segment_metadata_push_job_runner_class_name: Text | None = None
    extra_configs: ExtraConfigs | None = None


class TableSpec(Model):
    """``tableSpec``; schema and config are those of the table itself."""

    table_name: str | None = None
    schema_uri: Text | None = msgspec.field(default=None, name="schemaURI")
    table_config_uri: Text | None = msgspec.field(default=None, name="tableConfigURI")


class RecordReader(Model):
    """``recordReaderSpec``; ``configs`` are read by ``reader_spec`` for the format."""

    data_format: str | None = None
    class_name: str | None = None
    config_class_name: Text | None = None
    configs: dict[str, Any] | None = None


class CsvConfigs(Model):
    """``recordReaderSpec.configs`` of CSV files."""

    file_format: Text | None = None
    header: Text | None = None
    delimiter: Text | None = None
    multi_value_delimiter: Text | None = None
    multi_value_delimiter_enabled: Flag | None = None
    escape_character: Text | None = None
    null_string_value: Text | None = None
    skip_header: Flag | None = None
    ignore_empty_lines: Flag | None = None
    ignore_surrounding_spaces: Flag | None = None
    quote_character: Text | None = None
    encoding: Text | None = None


class SegmentNameGenerator(Model):
    """``segmentNameGeneratorSpec``."""

    type: str | None = None
    configs: dict[str, Text | None] | None = None


class PushJob(Model):
    """``pushJobSpec``: how Pinot's runners send segments is taken without effect."""

    push_attempts: Any = None
    push_parallelism: Any = None
    push_retry_interval_millis: Any = None
    copy_to_deep_store_for_metadata_push: Any = None
    batch_segment_upload: Any = None
    segment_metadata_generation_parallelism: Any = None
    prefer_metadata_tar_gz: Any = None
    extra_configs: ExtraConfigs | None = None
    segment_uri_prefix: Any = None
    segment_uri_suffix: Any = None
    push_file_name_pattern: Any = None


class JobSpec(Model):
    """The whole specification. What is ``Any`` describes where Pinot's own runners put files, and is taken without
    effect.
    """

    job_type: Text | None = None
    input_dir: str | None = msgspec.field(default=None, name="inputDirURI")
    output_dir: Any = msgspec.field(default=None, name="outputDirURI")
    search_recursively: Flag | None = None
    include_file_name_pattern: str | None = None
    exclude_file_name_pattern: str | None = None
    segment_creation_job_parallelism: Whole | None = None
    overwrite_output: Any = None
    pinot_fs_specs: Any = msgspec.field(default=None, name="pinotFSSpecs")
    clean_up_output_dir: Any = None
    fail_on_empty_segment: Flag | None = None
    auth_token: Any = None
    create_metadata_tar_gz: Any = None
    tls_spec: Any = None
    execution_framework_spec: ExecutionFramework | None = None
    table_spec: TableSpec | None = None
    record_reader_spec: RecordReader | None = None
    segment_name_generator_spec: SegmentNameGenerator | None = None
    pinot_cluster_specs: list[dict[str, Any]] | None = None
    push_job_spec: PushJob | None = None


@cache
def keys_of(model: type[msgspec.Struct]) -> Mapping[str, type[msgspec.Struct] | None]:
    """Every key of a model, with the model of what stands below it where there is one."""
    kinds = {field.encode_name: (field.type, *get_args(field.type)) for field in msgspec.structs.fields(model)}
    return {
        key: next((t for t in found if isinstance(t, type) and issubclass(t, msgspec.Struct)), None)
        for key, found in kinds.items()
    }


def dotted_keys(model: type[msgspec.Struct], below: str = "") -> Iterator[str]:
    """``tableSpec``, ``tableSpec.tableName`` and so on: all of them."""
    for key, inner in keys_of(model).items():
        yield f"{below}{key}"
        if inner is not None:
            yield from dotted_keys(inner, f"{below}{key}.")
