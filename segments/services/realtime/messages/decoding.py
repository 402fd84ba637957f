"""One message of a stream as the row that it is, by the decoder of its config: without a table's schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from segments.dataplane.realtime.avro_messages import AvroMessages, FramedAvroMessages
from segments.dataplane.realtime.csv_messages import CsvMessages
from segments.dataplane.realtime.json_messages import json_value
from segments.domain.access.outgoing import Kind, Rules
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.domain.tables.schema import parse_schema
from segments.gateways.streams.schema_registry import SchemaRegistry
from segments.services.core.context import Context


def message_reader(ctx: Context, config: StreamConfig) -> Callable[[bytes], Any]:
    """Parses one message; that raises one of ``CONTENT_ERRORS`` for what is no such message, Unavailable while a
    registry does not answer. Raises InvalidInput for properties that cannot work.
    """
    decoder, empty = config.decoder, parse_schema({"schemaName": "sample"})
    match decoder.kind:
        case "json":
            return json_value
        case "avro":
            return AvroMessages(empty, decoder.properties).row
        case "csv":
            names = [n.strip() for n in decoder.properties["header"].split(decoder.properties.get("delimiter", ","))]
            fields = [{"name": n, "dataType": "STRING"} for n in dict.fromkeys(names) if n]
            schema = parse_schema({"schemaName": "sample", "dimensionFieldSpecs": fields})
            return CsvMessages(schema, decoder.properties).row
    registry = SchemaRegistry(decoder.properties, ctx.registries or Rules(Kind.REGISTRY))
    return FramedAvroMessages(empty, registry.schema_text).row
