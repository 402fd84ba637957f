"""A new API token as people type it, and why one is revoked."""

from __future__ import annotations

from typing import ClassVar, Final

from django import forms

from segments.console.forms import EXACT, PlainForm, reason_field
from segments.domain.access.token_scope import EVERYTHING, SCOPES
from segments.services.access.api_tokens import DEFAULT_DAYS, MOST_DAYS, TokenWish

_EXPLAINED: Final = {
    "read": "read: tables, segments, lineage, state of the cluster",
    "query": "query: the data of the tables",
    "operate": "operate: push, end, revert, pause, run passes; and read",
    "administer": "administer: create, change and delete; and operate",
}


class TokenForm(PlainForm):
    """A ``TokenWish``."""

    called: ClassVar = {"expiresInDays": "days"}

    name = forms.CharField(
        max_length=60, label="Name", help_text="What uses it, for example nightly-push: it stands in the audit record.",
        widget=forms.TextInput(attrs=EXACT),
    )  # fmt: skip
    scopes = forms.MultipleChoiceField(
        label="What it may do",
        choices=[(scope, _EXPLAINED[scope]) for scope in SCOPES],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one: a token without a scope allows nothing."},
    )
    tables = forms.CharField(
        max_length=255, label="Tables", initial=EVERYTHING, widget=forms.TextInput(attrs=EXACT),
        help_text="A pattern, such as sales_*. Only * alone also opens what belongs to no table.",
    )  # fmt: skip
    cluster = forms.CharField(
        max_length=64,
        label="Cluster",
        initial=EVERYTHING,
        widget=forms.TextInput(attrs=EXACT),
        help_text="A cluster's name; * is every one.",
    )
    days = forms.IntegerField(min_value=1, max_value=MOST_DAYS, label="Valid for (days)", initial=DEFAULT_DAYS)
    reason = reason_field("Goes into the audit record.")

    def wish(self) -> TokenWish:
        """What was typed; only of a valid form."""
        given = self.cleaned_data
        return TokenWish(
            given["name"].strip(),
            tuple(given["scopes"]),
            given["cluster"].strip(),
            given["tables"].strip(),
            given["days"],
        )
