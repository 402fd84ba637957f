"""What a REALTIME table's config must fulfil: streams, names, replicas."""

from __future__ import annotations

from typing import Any, Final

from segments.domain.realtime.llc_name import check_llc_table
from segments.domain.realtime.repair.recovery_mode import check_mode
from segments.domain.realtime.streams.offset_auto_reset import (
    ENABLE,
    MESSAGES,
    SECONDS,
    auto_reset_of,
    check_auto_reset,
    is_enabled,
)
from segments.domain.realtime.streams.stream_config import StreamConfig, stream_configs
from segments.domain.realtime.streams.stream_offset import are_numbers
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput

_PAUSELESS: Final = "ingestionConfig.streamIngestionConfig.pauselessConsumptionEnabled"


def check_realtime(config: TableConfig) -> tuple[StreamConfig, ...]:
    """The streams of a REALTIME table. Raises InvalidInput naming the key and what is wrong with it."""
    check_llc_table(config.table.raw)
    streams = stream_configs(config)
    if config.time_column is None:
        raise InvalidInput(
            f"Table '{config.table}' has no time column.",
            remedy="Name a date-time column in segmentsConfig.timeColumnName.",
        )
    check_mode(config.streaming.disaster_recovery_mode, "ingestionConfig.streamIngestionConfig.disasterRecoveryMode")
    _check_pauseless(config, streams)
    return streams


def check_offset_reset(config: TableConfig) -> None:
    """Thresholds of an offset auto reset can be watched, and no class is named that reads what was skipped: there is
    none. Raises InvalidInput.
    """
    for stream in stream_configs(config):
        check_auto_reset(stream.raw, is_numbered=are_numbers(stream.type))
    if config.streaming.realtime_offset_auto_reset_handler_class:
        raise InvalidInput(
            "'realtimeOffsetAutoResetHandlerClass' is not supported by this cluster: nothing reads what an offset auto "
            "reset skipped.",
            remedy="Leave it out. What was skipped is on record; to read it after all, delete the partition's segments "
            "from the one behind it on, and resume.",
        )


def reset_without_effect(config: TableConfig) -> list[dict[str, Any]]:
    """An offset auto reset that is enabled and never happens, as an entry of ``warnings``; nothing for others."""
    found = [s.raw for s in stream_configs(config) if is_enabled(s.raw)]
    if all(auto_reset_of(raw) is not None for raw in found):
        return []
    problem = "It is enabled and never happens: there is no threshold above 0, or the stream is a backfill topic."
    remedy = f"Give {MESSAGES} or {SECONDS}."
    return [{"key": ENABLE, "problem": problem, "remedy": remedy, "isWrong": False}]


def pauseless_risks(config: TableConfig) -> list[dict[str, Any]]:
    """What a pauseless table of one replica risks, as an entry of ``warnings``; nothing for others."""
    if not config.is_pauseless or config.replication > 1:
        return []
    problem = (
        "With one replica, rows of a segment whose file is not in the deep store yet are on one server only: when it "
        "is lost, they have to be read from the stream again."
    )
    remedy = "Set segmentsConfig.replication to 2 or more and segmentsConfig.peerSegmentDownloadScheme to http."
    return [{"key": _PAUSELESS, "problem": problem, "remedy": remedy, "isWrong": False}]


def _check_pauseless(config: TableConfig, streams: tuple[StreamConfig, ...]) -> None:
    """What Pinot asks of a pauseless table: replicas that fall behind must find the file before it is in the deep
    store, so servers have to serve it to one another. With one replica there is nobody to fetch it from, and a scheme
    is refused (``check_peer_scheme``): so both go together, in Pinot, too.
    """
    if not config.is_pauseless:
        return
    if len(streams) > 1:
        raise InvalidInput("Multiple stream configs are not supported with pauseless consumption enabled.")
    if config.replication > 1 and config.peer_scheme is None:
        raise InvalidInput(
            f"Table '{config.table}' needs 'peerSegmentDownloadScheme' for pauseless consumption with "
            f"{config.replication} replicas.",
            remedy="Set segmentsConfig.peerSegmentDownloadScheme to http.",
        )
