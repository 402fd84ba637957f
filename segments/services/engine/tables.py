"""Tables and schemas: create, change, enable, remove, as every kind of cluster offers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from segments.domain.realtime.first_starts import Watermark
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.names import TableName
from segments.services.core.context import Actor, Context

#: What the audit record says of a change besides its target; a method adds to it while it decides.
Detail = dict[str, Any]


class TableEngine(Protocol):
    """Tables and schemas. Every change raises NotFound or StateConflict where the thing is missing, or there already.

    Embedded: one conditional transaction each, decided again when somebody else wrote in between. Pinot: its controller
    is sent each change once; after a lost answer the table or schema is read, and only what is not there is sent again.
    """

    def parse_config(self, body: Any) -> TableConfig:
        """A table config as somebody gives it. InvalidInput.

        Embedded: everything that needs no other record is checked. Pinot: name and type only, the rest is its own to
        judge.
        """

    def validate_config(self, ctx: Context, config: TableConfig, schema: Schema | None = None) -> Schema:
        """Check a config against its schema, or against ``schema``, which is to be it; returns that, writes nothing.

        InvalidInput, on the embedded cluster also when the schema is missing; NotFound for that on a Pinot.
        """

    def create_table(self, ctx: Context, config: TableConfig, watermarks: Mapping[int, Watermark]) -> None:
        """Create the table; partitions of a REALTIME one consume from then on. StateConflict when it exists.

        Embedded: partitions with a watermark begin there; nothing is left when it fails (Unavailable: a stream does not
        answer). Pinot: its own affair, and InvalidInput for watermarks, which it takes with a copy of a table only.
        """

    def check_update(self, ctx: Context, config: TableConfig, schema: Schema | None = None) -> TableConfig:
        """The config as ``update_table`` would write it, or what that would raise now; writes nothing. ``schema``: what
        is to be the table's schema, None: it stays.

        Pinot: its controller checks a config against the schema that is stored, so with ``schema`` not before that.
        """

    def update_table(
        self, ctx: Context, config: TableConfig, detail: Detail, expected: str | None = None
    ) -> TableConfig:
        """Change the config of an existing table; masked secrets in it stay as stored. The config as it is now.
        StateConflict when the stored one is not the version ``expected``; on a Pinot as far as was read before.

        ``detail`` gets what changed. Embedded: StateConflict when partitions still consume a stream that is replaced.
        """

    def edit_custom_configs(self, ctx: Context, table: TableName, edit: Callable[[TableConfig], TableConfig]) -> None:
        """Change ``metadata.customConfigs`` of the config as it is stored now; ``edit`` may refuse.

        Embedded: ``edit`` decides again in every attempt. Pinot: of two at the same moment the later one wins.
        """

    def set_table_enabled(self, ctx: Context, table: TableName, is_enabled: bool) -> None:
        """Enable or disable a table as a whole."""

    def delete_table(
        self, ctx: Context, table: TableName, *, retention: str | None, force: bool, actor: Actor, detail: Detail
    ) -> None:
        """Drop it. Its files are kept for ``retention``, None: as long as its config or the cluster says.

        Embedded: segments that only servers have are copied first; StateConflict where that fails, unless ``force``.
        ``actor`` is noted with what is kept. A drop that was cut short is finished by dropping again.
        """

    def create_schema(self, ctx: Context, schema: Schema, *, override: bool, detail: Detail) -> None:
        """Create a schema; with ``override`` an existing one is changed as ``update_schema`` does."""

    def update_schema(self, ctx: Context, schema: Schema, detail: Detail, expected: str | None = None) -> None:
        """Change an existing schema; columns may be added only (InvalidInput). ``expected`` as for ``update_table``."""

    def delete_schema(self, ctx: Context, name: str) -> None:
        """Delete a schema that no table uses; StateConflict names those that do.

        Embedded: also when a table is created at the same moment. Pinot: as far as was read before it was sent.
        """

    def retain(self, ctx: Context, table: TableName) -> list[str]:
        """One retention pass over a table: what was done, one sentence each. NotFound; PinotAdminError where a step
        failed, after the others. Pinot: nothing, its own RetentionManager does that.
        """

    def retain_dropped(self, ctx: Context) -> list[str]:
        """The same for files of tables that no longer exist. Pinot: nothing."""
