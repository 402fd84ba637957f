"""``segment.partition.metadata`` of a consuming segment: which values its rows can have."""

from __future__ import annotations

import json

from segments.domain.tables.table_config import TableConfig


def stream_partition_metadata(config: TableConfig, partition: int, topic_partitions: int) -> str | None:
    """JSON when the table has exactly one partition column and the stream has its number of partitions, else None.

    ``partition`` is the partition's number within its topic.
    """
    columns = config.index.partitioned
    if len(columns) != 1 or topic_partitions <= 0:
        return None
    [(column, settings)] = columns.items()
    one = {"functionName": str(settings.function_name), "numPartitions": topic_partitions, "partitions": [partition]}
    if settings.function_config:
        one["functionConfig"] = settings.function_config
    return json.dumps({"columnPartitionMap": {column: one}}, separators=(",", ":"))
