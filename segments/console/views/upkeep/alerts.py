"""Alerts: webhooks and mail that are sent about findings, and the delivery log. For administrators of
the installation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from segments import wiring
from segments.console.access import ADMINISTER, actor_of, may_administer_all, page, refused
from segments.console.operation import Operation, Outcome, Target, no_table
from segments.console.presenters.badges import Mark
from segments.console.webhook_form import WebhookForm
from segments.errors import PinotAdminError
from segments.models import AlertDelivery, Webhook
from segments.services.alerts import delivery, webhooks
from segments.services.core.context import Actor

_MARKS: Final = {
    AlertDelivery.State.SENT: Mark("taken", "ok", "check"),
    AlertDelivery.State.WAITING: Mark("waiting", "warn", "clock"),
    AlertDelivery.State.FAILED: Mark("given up", "bad", "cross"),
}
_SHOWN: Final = 100


@page
@require_http_methods(["GET", "HEAD", "POST"])
def alert_list(request: HttpRequest) -> HttpResponse:
    """Receivers, the form of a new webhook, and the newest messages."""
    if not may_administer_all(request):
        return refused(request, "addWebhook", "", ADMINISTER)
    form = WebhookForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _page(request, form)
    if not form.is_valid():
        return _page(request, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        row, secret = webhooks.add_webhook(
            wiring.webhooks(), form.spec(), actor_of(request, form.cleaned_data["reason"])
        )
    except PinotAdminError as error:
        return _page(request, _with_error(form, error), error.status)
    return _page(request, WebhookForm(), made=row, secret=secret)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, hook: int) -> HttpResponse:
    """One webhook: change it, and what became of its messages."""
    if not may_administer_all(request):
        return refused(request, "changeWebhook", str(hook), ADMINISTER)
    row = webhooks.find_webhook(hook)
    form = WebhookForm(request.POST) if request.method == "POST" else WebhookForm.of(row)
    if request.method != "POST":
        return _one(request, row, form)
    if not form.is_valid():
        return _one(request, row, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        webhooks.change_webhook(wiring.webhooks(), hook, form.spec(), actor_of(request, form.cleaned_data["reason"]))
    except PinotAdminError as error:
        return _one(request, row, _with_error(form, error), error.status)
    messages.success(request, f"The webhook {row.name} is changed.")
    return redirect("console:webhook", hook)


@page
@require_POST
def test(request: HttpRequest, hook: int) -> HttpResponse:
    """Send a test now, and say what became of it."""
    if not may_administer_all(request):
        return refused(request, "testWebhook", str(hook), ADMINISTER)
    message = webhooks.prepare_test(hook, actor_of(request, "test button"), timezone.now())
    delivery.send_test(message, wiring.outgoing_alerts(), timezone.now)
    if message.state == AlertDelivery.State.SENT:
        messages.success(request, f"The test was taken with status {message.status}.")
    else:
        messages.error(request, f"The test was not taken: {message.error}")
    return redirect("console:webhook", hook)


@page
@require_POST
def test_mail(request: HttpRequest) -> HttpResponse:
    """Send a test by mail now, and say what became of it."""
    if not may_administer_all(request):
        return refused(request, "testMail", "", ADMINISTER)
    outgoing = wiring.outgoing_alerts()
    message = webhooks.prepare_mail_test(outgoing.mail_to, actor_of(request, "test button"), timezone.now())
    delivery.send_test(message, outgoing, timezone.now)
    if message.state == AlertDelivery.State.SENT:
        messages.success(request, f"The mail server took the test for {', '.join(outgoing.mail_to)}.")
    else:
        messages.error(request, f"The test was not sent: {message.error}")
    return redirect("console:alerts")


def _to_remove(target: Target, plain: Operation) -> Operation:
    return replace(plain, title=f"Remove webhook {webhooks.find_webhook(target.arguments['hook']).name}")


def _run_remove(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    row = webhooks.find_webhook(target.arguments["hook"])
    webhooks.remove_webhook(wiring.webhooks(), row.pk, actor)
    return Outcome(f"The webhook {row.name} is removed.")


REMOVE: Final = Operation(
    action="removeWebhook",
    title="Remove a webhook",
    button="Remove it",
    right=ADMINISTER,
    everywhere=True,
    is_hidden=True,
    asks="nothing",
    is_danger=True,
    place="alerts",
    find=no_table,
    explain=[
        "Nothing is sent to it any more, messages that still wait included, and its delivery log is deleted.",
        "To undo this, add it again; it then has a new secret.",
    ],
    preview=_to_remove,
    run=_run_remove,
    back=lambda target: reverse("console:webhook", args=[target.arguments["hook"]]),
    then=lambda _: reverse("console:alerts"),
)


def _with_error(form: WebhookForm, error: PinotAdminError) -> WebhookForm:
    field = error.data.get("field")
    form.refuse(error, field if field in form.fields else None)
    return form


def _page(request: HttpRequest, form: WebhookForm, status: int = HTTPStatus.OK, **made: Any) -> HttpResponse:
    context = {
        "form": form,
        "rows": webhooks.list_webhooks(),
        "mail_to": settings.ALERT_MAIL_TO,
        "mail_severity": settings.ALERT_MAIL_SEVERITY,
        "log": _log(AlertDelivery.objects.select_related("webhook")),
        **made,
    }
    return render(request, "console/alerts.html", context, status=status)


def _one(request: HttpRequest, row: Webhook, form: WebhookForm, status: int = HTTPStatus.OK) -> HttpResponse:
    return render(
        request, "console/webhook.html", {"row": row, "form": form, "log": _log(row.deliveries.all())}, status=status
    )


def _log(found: Any) -> list[tuple[AlertDelivery, Mark]]:
    return [(one, _MARKS[AlertDelivery.State(one.state)]) for one in found[:_SHOWN]]
