"""A webhook as people type it."""

from __future__ import annotations

from typing import Any

from django import forms

from segments.console.forms import EXACT, PlainForm, reason_field
from segments.models import Webhook
from segments.services.alerts.webhooks import WebhookSpec


class WebhookForm(PlainForm):
    """A ``WebhookSpec``."""

    name = forms.CharField(max_length=60, label="Name", widget=forms.TextInput(attrs=EXACT))
    url = forms.CharField(
        max_length=2000,
        label="Address",
        widget=forms.TextInput(attrs=EXACT),
        help_text="Gets a POST with JSON. Which addresses are allowed is the installation's setting "
        "PINOTADMIN_WEBHOOK_ROOTS.",
    )
    tables = forms.CharField(
        max_length=255,
        label="Tables",
        initial="*",
        widget=forms.TextInput(attrs=EXACT),
        help_text="A pattern, such as sales_*. Only * alone includes findings that concern no table, such as a worker "
        "that does not work.",
    )
    cluster = forms.CharField(
        max_length=64,
        label="Cluster",
        initial="*",
        widget=forms.TextInput(attrs=EXACT),
        help_text="A cluster's name; * is every one.",
    )
    severity = forms.ChoiceField(
        label="Severity", choices=[("warning", "warnings and errors"), ("error", "errors only")]
    )
    is_enabled = forms.BooleanField(required=False, initial=True, label="Enabled")
    secret = forms.CharField(
        required=False,
        max_length=500,
        label="Secret",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="Signs what is sent. Left empty: the one that is there stays; for a new webhook one is made and "
        "shown once.",
    )
    reason = reason_field("Goes into the audit record.")

    @classmethod
    def of(cls, row: Webhook) -> WebhookForm:
        """Filled with what is there, the secret left out."""
        names = ("name", "url", "tables", "cluster", "severity", "is_enabled")
        return cls(initial={name: getattr(row, name) for name in names})

    def spec(self) -> WebhookSpec:
        """What was typed; only of a valid form."""
        given: dict[str, Any] = {
            k: v.strip() if isinstance(v, str) else v for k, v in self.cleaned_data.items() if k != "reason"
        }
        return WebhookSpec(**given)
