"""What somebody may do: any active user reads and queries; changes need a right that the view names; the rest is denied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from rest_framework.authentication import SessionAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

if TYPE_CHECKING:  # rest_framework.views imports this module while it is itself being imported
    from rest_framework.views import APIView

Right = Literal["read", "operate", "administer"]

_PERMISSIONS: Final[dict[str, str]] = {"operate": "segments.operate", "administer": "segments.administer"}
_SAFE: Final = ("GET", "HEAD", "OPTIONS")


class RightsPermission(BasePermission):
    """A view's ``rights`` is {HTTP method: right}; GET, HEAD and OPTIONS are "read" unless it says otherwise.

    ``administer`` includes ``operate``. A changing method without a named right is denied to everybody but superusers.
    """

    message = "You do not have the right to do this."

    def has_permission(self, request: Request, view: APIView) -> bool:
        """May this user call this method of this view?"""
        user = request.user
        if user is None or not user.is_authenticated or not user.is_active:
            return False
        method = "GET" if request.method == "HEAD" else str(request.method)
        rights: dict[str, Right] = getattr(view, "rights", {})
        right = rights.get(method, "read" if method in _SAFE else None)
        if right == "read":
            return True
        if method in _SAFE and isinstance(request.successful_authenticator, SessionAuthentication):
            return False  # a link on a foreign page must not change anything; POST is protected against that
        if user.is_superuser:
            return True
        if right is None:
            return False
        return any(user.has_perm(_PERMISSIONS[r]) for r in (right, "administer"))
