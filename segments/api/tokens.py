"""/api/v1/tokens: API tokens of the one who asks. A token is shown once, when it is made."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param
from segments.api.bodies import TokenBody, read_body
from segments.models import ApiToken
from segments.services.access.api_tokens import TokenWish, create_token, revoke_token, state_of, visible_tokens
from segments.services.core.page_addresses import address_of


class Tokens(ApiView):
    """The tokens of who asks; make one."""

    answers = {"GET": {200: "object"}, "POST": {201: "object"}}
    rights = {"POST": "read"}
    #: Everybody has tokens of their own; nothing of any table is in the answer.
    reading = "open"
    bodies = {"POST": TokenBody}
    parameters = {"GET": ("all",), "POST": ("reason",)}

    def get(self, request: Request) -> Response:
        """Newest first, also expired and revoked ones; ``all=true``: everybody's, for administrators of the
        installation.
        """
        found = visible_tokens(request.user, of_all=bool_param(request, "all"))
        return Response({"tokens": [token_json(token) for token in found]})

    def post(self, request: Request) -> Response:
        """Make one: ``{"name", "scopes": ["query"], "tables": "sales_*", "cluster": "*", "expiresInDays": 90}``.

        201 with ``token``: what is to be sent as ``Authorization: Bearer``. It is shown here and never again.
        """
        row, secret = create_token(request.user, _wish(read_body(request, TokenBody)), self.actor)
        answer = {**token_json(row), "token": secret}
        return Response(
            answer,
            status=201,
            headers={"Location": address_of(f"/api/v1/tokens/{row.pk}"), "Cache-Control": "no-store"},
        )


class OneToken(ApiView):
    """One token by its id."""

    rights = {"DELETE": "read"}
    reading = "open"
    parameters = {"DELETE": ("reason",)}

    def delete(self, request: Request, token: int) -> Response:
        """Revoke it, with those that were made with it: it opens nothing from now on. 404 for tokens of others, but for
        administrators.
        """
        revoked = revoke_token(request.user, token, self.actor)
        return Response({"status": f"Token {token} is revoked.", "revoked": [row.pk for row in revoked]})


def token_json(token: ApiToken) -> dict[str, Any]:
    """A token without what is secret."""
    return {
        "id": token.pk,
        "name": token.name,
        "owner": token.owner.get_username(),
        "scopes": token.scopes,
        "cluster": token.cluster,
        "tables": token.tables,
        "state": state_of(token),
        "created": token.created_at.isoformat(),
        "expires": token.expires_at.isoformat(),
        "lastUsed": token.last_used_at.isoformat() if token.last_used_at else None,
        "lastUsedFrom": token.last_used_from or None,
        "revoked": token.revoked_at.isoformat() if token.revoked_at else None,
        "revokedBy": token.revoked_by or None,
    }


def _wish(body: TokenBody) -> TokenWish:
    return TokenWish(body.name, tuple(dict.fromkeys(body.scopes)), body.cluster, body.tables, body.expires_in_days)
