"""Tables in which a primary key has one row: upsert and dedup, and what their settings mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.domain.tables.table_model import UpsertConfig

Mode = Literal["FULL", "PARTIAL", "DEDUP"]


@dataclass(frozen=True)
class KeyRules:
    """``columns`` are the primary key's; ``comparison``: of rows of one key the one with the greatest value counts
    (None: dedup without a time). ``others``: more comparison columns; each row says something in one of them. ``ttl``
    and ``deleted_ttl`` are in units of the comparison column, 0: none.
    """

    mode: Mode
    columns: tuple[str, ...]
    comparison: str | None
    delete_column: str | None = None
    out_of_order_column: str | None = None
    drops_out_of_order: bool = False
    ttl: float = 0
    deleted_ttl: float = 0
    strategies: Mapping[str, str] = field(default_factory=dict)
    default_strategy: str = "OVERWRITE"
    others: tuple[str, ...] = ()

    @property
    def compared(self) -> tuple[str, ...]:
        """All comparison columns."""
        return () if self.comparison is None else (self.comparison, *self.others)

    @property
    def compares_several(self) -> bool:
        """Are there several comparison columns?"""
        return bool(self.others)

    @property
    def masks_rows(self) -> bool:
        """May segments have rows that queries do not see? Repeated keys of dedup do not come in, unless a segment that
        had them was lost; with a TTL a key may come again.
        """
        return self.mode != "DEDUP" or self.ttl <= 0

    @property
    def first_counts(self) -> bool:
        """Is it the first row of a key that queries see, not the one with the greatest comparison value?"""
        return self.mode == "DEDUP" and self.ttl <= 0

    @property
    def depends_on_rows(self) -> bool:
        """Do a segment's rows depend on the rows before them?"""
        marks = self.drops_out_of_order or self.out_of_order_column is not None
        return self.mode != "FULL" or marks or self.compares_several

    @property
    def needs_order(self) -> bool:
        """Have the rows before a segment to be there first? Also where keys are forgotten in time."""
        return self.depends_on_rows or self.ttl > 0 or self.deleted_ttl > 0


def is_upsert(config: TableConfig) -> bool:
    """Is there one visible row of each primary key?"""
    upsert = config.model.upsert_config
    return upsert is not None and (upsert.mode or "NONE").upper() != "NONE"


def is_dedup(config: TableConfig) -> bool:
    """Is only the first row of each primary key kept?"""
    dedup = config.model.dedup_config
    return dedup is not None and (dedup.dedup_enabled is None or bool(dedup.dedup_enabled))


def is_keyed(config: TableConfig) -> bool:
    """Has a primary key one row?"""
    return is_upsert(config) or is_dedup(config)


def key_rules(config: TableConfig, schema: Schema) -> KeyRules | None:
    """Of a table that ``check_keyed`` let in; None for one in which every row counts."""
    upsert, dedup = config.model.upsert_config, config.model.dedup_config
    if is_upsert(config) and upsert is not None:
        strategies = {c: (s or "").upper() for c, s in (upsert.partial_upsert_strategies or {}).items()}
        return KeyRules(
            mode="PARTIAL" if (upsert.mode or "").upper() == "PARTIAL" else "FULL",
            columns=schema.primary_keys,
            comparison=next(iter(comparison_columns(config, upsert)), None),
            others=comparison_columns(config, upsert)[1:],
            delete_column=upsert.delete_record_column,
            out_of_order_column=upsert.out_of_order_record_column,
            drops_out_of_order=bool(upsert.drop_out_of_order_record),
            ttl=float(upsert.metadata_ttl or 0),
            deleted_ttl=float(upsert.deleted_keys_ttl or 0),
            strategies=strategies,
            default_strategy=(upsert.default_partial_upsert_strategy or "OVERWRITE").upper(),
        )
    if is_dedup(config) and dedup is not None:
        ttl = float(dedup.metadata_ttl or 0)
        time = dedup.dedup_time_column or config.time_column
        return KeyRules("DEDUP", schema.primary_keys, str(time) if ttl > 0 and time else None, ttl=ttl)
    return None


def comparison_columns(config: TableConfig, upsert: UpsertConfig) -> tuple[str, ...]:
    """The comparison columns: as configured, else the time column."""
    listed = [str(c) for c in upsert.comparison_columns or () if c]
    found = listed or [c for c in (upsert.comparison_column, config.time_column) if c][:1]
    return tuple(str(c) for c in found)
