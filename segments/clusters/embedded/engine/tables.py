"""Tables and schemas: create, change, enable, remove, on the embedded cluster."""

from __future__ import annotations

from segments.clusters.embedded import retention
from segments.clusters.embedded.tables import removal, schema_changes, table_changes
from segments.domain.tables.table_config import parse_table_config


class EmbeddedTableEngine:
    """``segments.services.engine.tables.TableEngine`` on the embedded cluster."""

    parse_config = staticmethod(parse_table_config)
    validate_config = staticmethod(table_changes.validate_config)
    create_table = staticmethod(table_changes.create_table)
    check_update = staticmethod(table_changes.check_update)
    update_table = staticmethod(table_changes.update_table)
    edit_custom_configs = staticmethod(table_changes.edit_custom_configs)
    set_table_enabled = staticmethod(table_changes.set_table_enabled)
    delete_table = staticmethod(removal.delete_table)
    create_schema = staticmethod(schema_changes.create_schema)
    update_schema = staticmethod(schema_changes.update_schema)
    delete_schema = staticmethod(schema_changes.delete_schema)
    retain = staticmethod(retention.run)
    retain_dropped = staticmethod(retention.remove_aged_of_dropped_tables)
