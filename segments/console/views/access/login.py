"""Logging in: as Django does it, but a wrong password answers 401; it is on the audit record, wherever it was typed."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.signals import user_login_failed
from django.contrib.auth.views import LoginView
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse

from segments.console.too_many_attempts import as_refusal
from segments.errors import TooManyRequests
from segments.services.access.refusals import record_refusal
from segments.services.core.context import Actor

_MAX_NAME = 150


class Login(LoginView):
    """The console's log-in page."""

    template_name = "console/login.html"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """With what the identity provider is called, where there is one."""
        return super().get_context_data(**kwargs, sign_on=settings.OIDC_NAME if settings.OIDC_ISSUER else "")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Log in; after too many attempts the form again, with 429 and how long to wait."""
        try:
            return super().post(request, *args, **kwargs)
        except TooManyRequests as error:
            response = self.render_to_response(
                self.get_context_data(form=self.get_form_class()(request), too_many=error)
            )
            return as_refusal(response, error)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """The form again, saying what is wrong."""
        response = super().form_invalid(form)
        response.status_code = HTTPStatus.UNAUTHORIZED
        return response


@receiver(user_login_failed, dispatch_uid="segments.console.login")
def record_failure(sender: object, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    """A wrong password in the console or the admin. The name may be any text: people type passwords into the wrong
    field, so only names of users are kept.
    """
    typed = str(credentials.get("username", ""))[:_MAX_NAME]
    name = typed if get_user_model().objects.filter(username=typed).exists() else ""
    meta = request.META if request is not None else {}
    path = request.path if request is not None else ""
    record_refusal(
        Actor("anonymous", "", str(meta.get("REMOTE_ADDR", ""))),
        path,
        user=name,
        error="User name or password is wrong.",
    )
