"""Which tag a server carries to hold segments of a table: the tenant's, or what ``tenants.tagOverrideConfig`` names
instead of it.
"""

from __future__ import annotations

from typing import Final

from segments.domain.tables.table_config import TableConfig
from segments.domain.tables.table_model import TagOverrideConfig, TenantsConfig
from segments.errors import InvalidInput
from segments.names import REALTIME, shown

_DEFAULT_TENANT: Final = "DefaultTenant"
_SUFFIXES: Final = ("_REALTIME", "_OFFLINE")


def consuming_tag(config: TableConfig) -> str:
    """The tag of the servers that consume a REALTIME table: ``realtimeConsuming`` comes before the tenant."""
    return _override(config).realtime_consuming or _tenant_tag(config)


def segment_tag(config: TableConfig) -> str:
    """The tag of the servers that get uploaded and restored segments: of a REALTIME table ``realtimeCompleted``, else
    who consumes it.

    Segments that a server has consumed itself stay with it.
    """
    if config.table.type != REALTIME:
        return _tenant_tag(config)
    return _override(config).realtime_completed or consuming_tag(config)


def check_tags(config: TableConfig) -> None:
    """Raises InvalidInput for tags in ``tagOverrideConfig`` that are none of servers, or on a table that does not
    consume.
    """
    override = _override(config)
    for key, tag in (
        ("realtimeConsuming", override.realtime_consuming),
        ("realtimeCompleted", override.realtime_completed),
    ):
        if tag is None:
            continue
        path = f"tenants.tagOverrideConfig.{key}"
        if config.table.type != REALTIME:
            text = f"'{path}' is for REALTIME tables only, and '{config.table}' is not one."
            raise InvalidInput(text, remedy="Set tenants.server.", field=path)
        if not tag.endswith(_SUFFIXES):
            text = f"'{path}' of table '{config.table}' is '{shown(tag)}', which is not a tag of servers."
            raise InvalidInput(text, remedy="Name a whole tag, which ends in _REALTIME or _OFFLINE.", field=path)


def _tenants(config: TableConfig) -> TenantsConfig:
    return config.model.tenants or TenantsConfig()


def _override(config: TableConfig) -> TagOverrideConfig:
    return _tenants(config).tag_override_config or TagOverrideConfig()


def _tenant_tag(config: TableConfig) -> str:
    return f"{_tenants(config).server or _DEFAULT_TENANT}_{config.table.type}"
