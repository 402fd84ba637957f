"""Tables and schemas: create, change, enable, remove, on a real Pinot."""

from __future__ import annotations

from segments.clusters.pinot import tables
from segments.names import TableName
from segments.services.core.context import Context


class PinotTableEngine:
    """``segments.services.engine.tables.TableEngine`` on a real Pinot."""

    parse_config = staticmethod(tables.parse_config)
    validate_config = staticmethod(tables.validate_config)
    create_table = staticmethod(tables.create_table)
    check_update = staticmethod(tables.check_update)
    update_table = staticmethod(tables.update_table)
    edit_custom_configs = staticmethod(tables.edit_custom_configs)
    set_table_enabled = staticmethod(tables.set_table_enabled)
    delete_table = staticmethod(tables.delete_table)
    create_schema = staticmethod(tables.create_schema)
    update_schema = staticmethod(tables.update_schema)
    delete_schema = staticmethod(tables.delete_schema)

    def retain(self, ctx: Context, table: TableName) -> list[str]:
        """Left to its own controller."""
        return []

    def retain_dropped(self, ctx: Context) -> list[str]:
        """Left to its own controller."""
        return []
