"""What streams are opened with: the installation's own brokers, and what a table's config may name beside them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StreamAccess:
    """``redis_url``, ``kafka_bootstrap``: where streams are when the config does not say it; empty: nowhere.

    ``file_roots``: folders below which a config may name files, such as certificates.
    """

    redis_url: str = ""
    kafka_bootstrap: str = ""
    file_roots: tuple[str, ...] = ()
