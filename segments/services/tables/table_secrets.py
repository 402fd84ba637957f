"""Secrets of table configs: kept when a masked config comes back, left out of errors, and revealed with a reason, on
record.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from segments.domain.tables.kept_secrets import has_mask, keep_secrets
from segments.domain.tables.secret_masks import secret_leaves, without_secrets
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, PinotAdminError
from segments.names import TableName, split_table_name
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.tables.table_record import find_table_config, read_table_config


def reveal_secrets(ctx: Context, table: TableName, *, actor: Actor) -> list[dict[str, Any]]:
    """``[{"path": ..., "value": ...}]`` of the secrets in a table's config; who asked and why is on record before they
    are given.

    Raises InvalidInput without a reason, NotFound.
    """
    if not actor.reason.strip():
        raise InvalidInput(
            "Secrets are shown for a reason only.", remedy="Say why with the header X-Reason or the parameter 'reason'."
        )
    found = [
        {"path": _dotted(path), "value": value} for path, value in secret_leaves(read_table_config(ctx, table).body)
    ]
    audit.record(actor, "revealSecrets", cluster=ctx.cluster, target=table.typed, paths=[f["path"] for f in found])
    return found


def with_stored_secrets(ctx: Context, body: Any) -> Any:
    """A config, as somebody gives it, with the secrets of the table that it names where it has masks. Raises as
    ``keep_secrets``.
    """
    if not isinstance(body, dict) or not isinstance(body.get("tableName"), str) or not has_mask(body):
        return body  # whoever reads it next says what is wrong
    raw, suffix = split_table_name(body["tableName"])
    kind = suffix or body.get("tableType")
    names = [TableName(raw, kind)] if kind in ("OFFLINE", "REALTIME") else []
    stored: TableConfig | None = find_table_config(ctx, names[0]) if names else None
    return keep_secrets(body, stored.body if stored else {})


@contextmanager
def secrets_masked_in_errors(config: Any) -> Iterator[None]:
    """What is raised inside repeats no secret of this config, even where somebody else wrote the message."""
    try:
        yield
    except PinotAdminError as error:
        for name, text in vars(error).items():
            if isinstance(text, str):
                setattr(error, name, without_secrets(text, config))
        error.args = (error.message,)
        error.data = {key: without_secrets(v, config) if isinstance(v, str) else v for key, v in error.data.items()}
        raise


def _dotted(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
