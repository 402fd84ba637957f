"""The identity provider of this installation, and what its groups mean here, from the settings."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from django.conf import settings

from segments.domain.access.claimed_person import GroupRules, parse_group_names

if TYPE_CHECKING:
    from segments.gateways.identity_provider import IdentityProvider


def identity_provider() -> IdentityProvider | None:
    """Where people of an organisation sign in; None where none is configured."""
    if not settings.OIDC_ISSUER:
        return None
    return _provider(
        settings.OIDC_ISSUER,
        settings.OIDC_CLIENT_ID,
        settings.OIDC_CLIENT_SECRET,
        settings.OIDC_SCOPE,
        frozenset(settings.OIDC_HOSTS),
    )


@lru_cache(maxsize=4)
def _provider(issuer: str, client: str, secret: str, scope: str, hosts: frozenset[str]) -> IdentityProvider:
    # its libraries are for installations that use it
    from segments.gateways.identity_provider import IdentityProvider, ProviderSettings

    return IdentityProvider(ProviderSettings(issuer, client, secret, scope, hosts))


def group_rules() -> GroupRules:
    """What groups of the identity provider mean here. InvalidInput for settings that do not read."""
    return GroupRules(
        settings.OIDC_GROUPS_CLAIM,
        parse_group_names(settings.OIDC_GROUPS),
        settings.OIDC_REQUIRED_GROUPS,
        settings.OIDC_ADMIN_GROUPS,
    )
