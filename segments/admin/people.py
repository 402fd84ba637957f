"""Users and groups in the style of the rest of the admin."""

from __future__ import annotations

from typing import Final

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as BaseGroupAdmin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import Q
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from segments.models import Grant, SignOnIdentity

admin.site.unregister(User)
admin.site.unregister(Group)


#: What makes somebody more than they are.
_OF_RIGHTS: Final = ("is_staff", "is_superuser", "groups", "user_permissions")


@admin.register(SignOnIdentity)
class SignOnIdentityAdmin(ModelAdmin):  # type: ignore[misc]  # unfold ships no types
    """Which account of the identity provider signs in as which user. For superusers: a link is like a password."""

    list_display = ("user", "subject", "issuer", "created_at")
    search_fields = ("user__username", "subject")
    #: The widget that completes names has no name that a screen reader could read.
    raw_id_fields = ("user",)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Superusers."""
        return bool(request.user.is_superuser)

    def has_view_permission(self, request: HttpRequest, obj: SignOnIdentity | None = None) -> bool:
        """Superusers."""
        return bool(request.user.is_superuser)

    has_change_permission = has_delete_permission = has_view_permission
    has_add_permission = has_module_permission


@admin.register(User)
class UserAdmin(BaseUserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]  # unfold ships no types; Django's class takes none at run time
    """People; the rights ``operate`` and ``administer`` are under "table" permissions.

    Who may change users without being a superuser can give nobody rights, and neither change nor remove a superuser or
    other staff: a new password for one of those would be as good as their rights.
    """

    #: Django's widget of two lists has no names that a screen reader could read.
    filter_horizontal = ()
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """Rights, to all but superusers."""
        return (*super().get_readonly_fields(request, obj), *(() if request.user.is_superuser else _OF_RIGHTS))

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Also for a new password."""
        return bool(super().has_change_permission(request, obj)) and _is_below(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """The same."""
        return bool(super().has_delete_permission(request, obj)) and _is_below(request, obj)


def _is_below(request: HttpRequest, user: User | None) -> bool:
    """Has ``user`` no more rights than who asks? Superusers are above all; others only above people without any."""
    if request.user.is_superuser or user is None or user.pk == request.user.pk:
        return True
    has_grants = Grant.objects.filter(Q(user=user) | Q(group__user=user)).exists()
    return not (user.is_superuser or user.is_staff or has_grants or user.get_all_permissions())


@admin.register(Group)
class GroupAdmin(BaseGroupAdmin, ModelAdmin):  # type: ignore[misc]  # unfold ships no types
    """Groups. Their permissions, and so who gets them, are for superusers."""

    filter_horizontal = ()

    def get_readonly_fields(self, request: HttpRequest, obj: Group | None = None) -> tuple[str, ...]:
        """Permissions, to all but superusers."""
        return (*super().get_readonly_fields(request, obj), *(() if request.user.is_superuser else ("permissions",)))
