"""Changing one's own password: the old one is needed, so guessing it is slowed down as at a login."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse_lazy
from unfold.forms import AdminOwnPasswordChangeForm

from segments.services.access.sign_in_throttle import throttle


class OwnPasswordForm(AdminOwnPasswordChangeForm):  # type: ignore[misc]  # unfold ships no types
    """Django's form; ``address`` is where it was sent from."""

    def __init__(self, *args: Any, address: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._address = address

    def clean_old_password(self) -> str:
        """TooManyRequests, which is a 429 page, before a password is hashed."""
        name = self.user.get_username()
        throttle().admit(name, self._address)
        found: str = super().clean_old_password()
        throttle().succeeded(name, self._address)
        return found


class OwnPassword(PasswordChangeView):
    """The admin's page. It stands before the admin's own address."""

    form_class = OwnPasswordForm
    success_url = reverse_lazy("admin:password_change_done")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """With the frame of the admin."""
        self.extra_context = admin.site.each_context(request)
        request.current_app = admin.site.name
        return super().dispatch(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        """With the address."""
        return {**super().get_form_kwargs(), "address": str(self.request.META.get("REMOTE_ADDR") or "")}


#: For the address of the same name; only staff, as all of the admin.
own_password = admin.site.admin_view(OwnPassword.as_view(), cacheable=True)
