"""The installation's own deep store, as the settings name it."""

from __future__ import annotations

from django.conf import settings

from segments.gateways.deep_store.access import StoreAccess
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.deep_store.no_deep_store import open_deep_store


def own_deep_store() -> DeepStore:
    """Where this installation's segments are. InvalidInput when it cannot be opened."""
    return open_deep_store(settings.DEEP_STORE_URL, settings.DEEP_STORE_TIMEOUT_S, store_access())


def store_access() -> StoreAccess:
    """How stores are reached whose addresses say nothing else."""
    return StoreAccess(
        settings.DEEP_STORE_ENDPOINT,
        settings.DEEP_STORE_REGION,
        settings.DEEP_STORE_ACCESS_KEY,
        settings.DEEP_STORE_SECRET_KEY,
    )
