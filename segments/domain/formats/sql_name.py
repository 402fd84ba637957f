"""Names of tables and columns as a statement has them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """The name between double quotes; whatever is in it stays part of it."""
    return '"' + name.replace('"', '""') + '"'
