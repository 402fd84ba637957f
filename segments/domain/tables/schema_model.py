"""Pinot's schema as typed models: every key that Pinot documents, with the type that Pinot reads it as; all of them may
be missing.
"""

from __future__ import annotations

from typing import Any

from segments.domain.formats.json_model import Flag, Model, Text, Whole


class FieldModel(Model):
    """One column of a schema. ``default_null_value`` is checked against the column's own type."""

    name: Text | None = None
    data_type: Text | None = None
    single_value_field: Flag | None = None
    max_length: Whole | None = None
    max_length_exceed_strategy: Text | None = None
    default_null_value: Any = None
    transform_function: Text | None = None
    virtual_column_provider: Text | None = None
    not_null: Flag | None = None
    allow_trailing_zeros: Flag | None = None
    format: Text | None = None
    granularity: Text | None = None
    description: Text | None = None
    child_field_specs: dict[str, FieldModel | None] | None = None


class TimeGranularityModel(Model):
    """One side of a legacy ``timeFieldSpec``."""

    name: Text | None = None
    data_type: Text | None = None
    time_type: Text | None = None
    time_unit_size: Whole | None = None
    time_format: Text | None = None


class TimeFieldModel(Model):
    """The legacy ``timeFieldSpec``."""

    incoming_granularity_spec: TimeGranularityModel | None = None
    outgoing_granularity_spec: TimeGranularityModel | None = None


class SchemaModel(Model):
    """The whole schema."""

    schema_name: Text | None = None
    dimension_field_specs: list[FieldModel] | None = None
    metric_field_specs: list[FieldModel] | None = None
    date_time_field_specs: list[FieldModel] | None = None
    complex_field_specs: list[FieldModel] | None = None
    time_field_spec: TimeFieldModel | None = None
    primary_key_columns: list[Text] | None = None
    enable_column_based_null_handling: Flag | None = None
    description: Text | None = None
