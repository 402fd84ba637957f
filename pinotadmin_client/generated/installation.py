"""Operations about installation.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Any

from pinotadmin_client.generated import models
from pinotadmin_client.transport import Transport


class Installation:
    """Operations about installation."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def instances(self) -> models.Instances:
        """List the instances.

        Names of servers, brokers and controllers that ever joined.
        """
        return self._transport.send("GET", "/instances", models.Instances)

    def drain_state(self, instance: str) -> models.DrainState:
        """Read the drain of a server.

        What the server holds by table, how far its drain is and what is in its way.
        """
        return self._transport.send(
            "GET", "/api/v1/instances/{instance}/drain", models.DrainState, names={"instance": instance}
        )

    def drain(
        self,
        instance: str,
        *,
        force_commit: bool | None = None,
        min_available_replicas: int | None = None,
        reason: str | None = None,
    ) -> models.DrainState:
        """Drain a server.

        Begin; with ``dryRun`` what would move, and ``refusals``: why it cannot.

        The server loses its tags, and each table on it is rebalanced with all replicas available. What it consumes is
        committed first; with ``forceCommit=false`` another server reads it again.
        """
        return self._transport.send(
            "POST",
            "/api/v1/instances/{instance}/drain",
            models.DrainState,
            names={"instance": instance},
            query={"forceCommit": force_commit, "minAvailableReplicas": min_available_replicas},
            reason=reason,
        )

    def undrain(self, instance: str, *, reason: str | None = None) -> models.DrainEnded:
        """End the drain of a server.

        The server gets its tags back; rebalances that its drain began are stopped, what moved stays.
        """
        return self._transport.send(
            "DELETE",
            "/api/v1/instances/{instance}/drain",
            models.DrainEnded,
            names={"instance": instance},
            reason=reason,
        )

    def version(self) -> dict[str, Any]:
        """Read the version.

        {component: version}.
        """
        return self._transport.send("GET", "/version", dict[str, Any])

    def clusters(self) -> models.Clusters:
        """List the clusters.

        Each with its state, since when, its version, when it was mirrored last; the installation's own first.
        """
        return self._transport.send("GET", "/api/v1/clusters", models.Clusters)

    def tokens(self, *, all_: bool | None = None) -> models.Tokens:
        """List the API tokens.

        Newest first, also expired and revoked ones; ``all=true``: everybody's, for administrators of the
        installation.
        """
        return self._transport.send("GET", "/api/v1/tokens", models.Tokens, query={"all": all_})

    def create_token(
        self,
        *,
        name: str | None = None,
        scopes: list[str] | None = None,
        tables: str | None = None,
        cluster: str | None = None,
        expires_in_days: int | None = None,
        reason: str | None = None,
    ) -> models.NewToken:
        """Create an API token.

        Make one: ``{"name", "scopes": ["query"], "tables": "sales_*", "cluster": "*", "expiresInDays": 90}``.

        201 with ``token``: what is to be sent as ``Authorization: Bearer``. It is shown here and never again.
        """
        return self._transport.send(
            "POST",
            "/api/v1/tokens",
            models.NewToken,
            body={
                "name": name,
                "scopes": scopes,
                "tables": tables,
                "cluster": cluster,
                "expiresInDays": expires_in_days,
            },
            reason=reason,
        )

    def revoke_token(self, token: str | int, *, reason: str | None = None) -> models.TokenRevoked:
        """Revoke an API token.

        Revoke it, with those that were made with it: it opens nothing from now on. 404 for tokens of others, but for
        administrators.
        """
        return self._transport.send(
            "DELETE", "/api/v1/tokens/{token}", models.TokenRevoked, names={"token": token}, reason=reason
        )
