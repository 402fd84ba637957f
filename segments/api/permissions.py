"""What a request needs: reading is for any active user unless it is restricted; changes need a right that the view
names, for its table.

Who has it is asked in ``segments.services.access.rights``; what is not named is denied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings
from rest_framework.authentication import BasicAuthentication, SessionAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from segments.api.authentication import is_from_browser
from segments.api.clusters.cluster_calls import ClusterUser
from segments.errors import PinotAdminError
from segments.services.access.known_people import is_remembered, known_people
from segments.services.access.rights import Right, allows, has_right, has_right_everywhere, has_right_somewhere
from segments.services.core.database_faults import unavailable

if TYPE_CHECKING:  # rest_framework.views imports this module while it is itself being imported
    from rest_framework.views import APIView

__all__ = ["Right", "RightsPermission"]

_SAFE: Final = ("GET", "HEAD", "OPTIONS")


class RightsPermission(BasePermission):
    """A view's ``rights`` is {HTTP method: right}; GET, HEAD and OPTIONS are "read" unless it says otherwise.

    ``administer`` includes ``operate``. A changing method without a named right is denied to everybody but superusers.
    Where reading is restricted, what is read needs the right for its table; for what names none, ``reading`` of the
    view says what then: see ``ApiView``. A process of the cluster may call the methods in ``for_cluster`` and no
    others: it sends requests that other people's data name.
    """

    message = "You do not have the right to do this."

    def has_permission(self, request: Request, view: APIView) -> bool:
        """May this user call this method of this view?"""
        user: Any = request.user
        if user is None or not user.is_authenticated or not user.is_active:
            return False
        method = "GET" if request.method == "HEAD" else str(request.method)
        if isinstance(user, ClusterUser):
            return method in getattr(view, "for_cluster", ()) and _cluster(view) == settings.CLUSTER_NAME
        right, table = self._needed(request, view, method)
        if is_remembered(user) and right != "query":
            raise unavailable()  # what the database said last counts for queries alone
        if right in ("read", "query"):
            if getattr(view, "reading", "table") != "table":  # the view itself checks it, or there is nothing to check
                is_allowed = allows(user, right)
                if is_allowed and right == "query":
                    known_people().keep(user)
                return is_allowed
            return _has_for_table(request, view, right, table)
        if method in _SAFE and _is_by_browser(request):
            return False  # a link on a foreign page must not change anything; POST is protected against that
        if user.is_superuser:
            return True
        if right is None:
            return False
        return _has_for_table(request, view, right, table)

    def _table(self, request: Request, view: APIView, right: Right) -> str | None:
        """The table that the request is about. What is wrong with its name is reported to those who have the right for
        some table.
        """
        asked = getattr(view, "table_asked", None)
        try:
            found: str | None = asked(request) if asked else None
        except PinotAdminError:
            if has_right_somewhere(request.user, right, _cluster(view)):
                raise
            return None
        return found

    def _needed(self, request: Request, view: APIView, method: str) -> tuple[Right | None, Callable[[], str | None]]:
        """The right, and a way to find out which table it is needed for."""
        by_path = getattr(view, "needs", None)
        if by_path is not None:
            right, table = by_path(request)
            return right, lambda: table
        rights: dict[str, Right] = getattr(view, "rights", {})
        right = rights.get(method, "read" if method in _SAFE else None)
        return right, lambda: self._table(request, view, right or "administer")


def _has_for_table(request: Request, view: APIView, right: Right, table: Callable[[], str | None]) -> bool:
    """Here and there the table is in the body, which is not parsed where it decides nothing, nor for who has no such
    right at all.
    """
    user, cluster = request.user, _cluster(view)
    if has_right_everywhere(user, right):
        return True
    return has_right_somewhere(user, right, cluster) and has_right(user, right, cluster, table())


def _is_by_browser(request: Request) -> bool:
    """With what a browser sends unasked: the session's cookie, or remembered credentials of HTTP Basic."""
    with_what = request.successful_authenticator
    return isinstance(with_what, SessionAuthentication) or (
        isinstance(with_what, BasicAuthentication) and is_from_browser(request)
    )


def _cluster(view: APIView) -> str:
    return getattr(view, "cluster", None) or str(settings.CLUSTER_NAME)
