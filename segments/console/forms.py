"""What people type into the console, checked before a service sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Protocol

from django import forms
from django.utils.html import format_html

from segments.errors import PinotAdminError
from segments.services.core.audit import OUTCOMES

_MOST_SPEC_BYTES = 1_000_000

#: Of fields whose text is a name or an address: browsers neither complete nor correct it.
EXACT: Final = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}


class PlainForm(forms.Form):
    """Shows a service's refusal as a form error, message and remedy."""

    #: What services call a field -> what the form does, where the two are not alike.
    called: ClassVar[Mapping[str, str]] = {}

    def has_place_for(self, named: str) -> bool:
        """Has it the field that services call so?"""
        return self.called.get(named, named) in self.fields

    def refuse(self, error: PinotAdminError, field: str | None = None) -> None:
        """Add the error to the field that it names, if the form has it, else to ``field``, or to the form."""
        named = str(error.data.get("field") or "")
        own = self.called.get(named, named)
        self.add_error(own if own in self.fields else field, str(error))


def reason_field(help_text: str) -> forms.CharField:
    """Why: required, for the audit record."""
    return forms.CharField(
        label="Reason",
        max_length=500,
        help_text=help_text,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Say why: the reason goes into the audit record."},
    )


class PushForm(PlainForm):
    """A job specification, pasted or as a file."""

    spec = forms.CharField(
        label="Job specification (YAML)",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 22, "spellcheck": "false", "class": "code"}),
    )
    file = forms.FileField(label="Or a file", required=False, help_text="Takes precedence over the text above.")
    overwrite = forms.BooleanField(
        label="Replace segments that have the same names",
        required=False,
        help_text="Otherwise a push that would replace any is refused and says which. What is replaced is kept, and "
        "listed under Deleted.",
    )
    strict_snapshot = forms.BooleanField(
        label="Fail when segments are added meanwhile",
        required=False,
        help_text="Of a push that replaces the whole table: segments that are added between its start and its switch "
        "stay next to the new ones, and its page lists them. With this it fails instead, and changes nothing.",
    )
    reason = reason_field("For example the ticket or the upstream run.")

    def clean(self) -> dict[str, Any]:
        upload = self.cleaned_data.get("file")
        if upload is not None:
            if upload.size > _MOST_SPEC_BYTES:
                raise forms.ValidationError(
                    {"file": "A job specification is a short YAML text; this file is too large."}
                )
            try:
                self.cleaned_data["spec"] = upload.read().decode("utf-8")
            except UnicodeDecodeError as error:
                raise forms.ValidationError(
                    {"file": "The file is not UTF-8 text. Choose the YAML job specification."}
                ) from error
        elif not (self.cleaned_data.get("spec") or "").strip():
            raise forms.ValidationError({"spec": "Paste a job specification or choose a file."})
        return self.cleaned_data


class Pressed(Protocol):
    """What the form of a button is made from: its own fields, a text to type and what that is, the preview that is
    confirmed.
    """

    @property
    def fields(self) -> Mapping[str, forms.Field]: ...
    @property
    def confirm(self) -> str: ...
    @property
    def confirm_what(self) -> str: ...
    @property
    def seen(self) -> str: ...


class OperationForm(PlainForm):
    """A reason, further fields of the operation, a text to type where the operation wants one, and which preview was
    confirmed.
    """

    def __init__(self, operation: Pressed, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        self.expected, self.what, self.fingerprint = operation.confirm, operation.confirm_what, operation.seen
        self.fields.update(operation.fields)
        self.fields["reason"] = reason_field("Goes into the audit record, for whoever asks later.")
        if self.expected:
            help_text = "It is <code>{}</code>." if self.what else "Type <code>{}</code>."
            self.fields["confirm"] = forms.CharField(
                label=f"Type {self.what} to confirm" if self.what else "Type to confirm",
                help_text=format_html(help_text, self.expected),
                widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            )
        if self.fingerprint:
            self.fields["seen"] = forms.CharField(required=False, widget=forms.HiddenInput, initial=self.fingerprint)

    def clean_confirm(self) -> str:
        typed: str = self.cleaned_data["confirm"].strip()
        if typed != self.expected:
            wrong = f"This is not {self.what}." if self.what else "This does not match."
            raise forms.ValidationError(f"{wrong} Type {self.expected} to confirm.")
        return typed

    def clean(self) -> dict[str, Any]:
        if self.fingerprint and self.cleaned_data.get("seen") != self.fingerprint:
            self.data = {**dict(self.data.items()), "seen": self.fingerprint}
            raise forms.ValidationError(
                "The table changed since you saw the preview. Check the new preview and confirm again."
            )
        return self.cleaned_data


class ChecksForm(PlainForm):
    """A table's checks as JSON, and which document they replace."""

    document = forms.CharField(
        label="Checks (JSON)",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "code", "autocapitalize": "off"}),
        help_text='An empty list, {"checks": []}, removes them.',
        error_messages={"required": 'Write a document. {"checks": []} removes all checks.'},
    )
    reason = reason_field("Goes into the audit record.")
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, fingerprint: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fingerprint = fingerprint

    def clean(self) -> dict[str, Any]:
        if self.cleaned_data.get("seen") != self.fingerprint:
            self.data = {**dict(self.data.items()), "seen": self.fingerprint}
            raise forms.ValidationError(
                "Somebody changed the checks since you opened this page. Read the rules above, then save again."
            )
        return self.cleaned_data


class QueryForm(PlainForm):
    """SQL to run."""

    sql = forms.CharField(
        label="SQL",
        max_length=100_000,
        widget=forms.Textarea(
            attrs={"rows": 7, "spellcheck": "false", "class": "code", "autocapitalize": "off", "autofocus": True}
        ),
        error_messages={"required": "Write a query first."},
    )
    #: Its plan is wanted, not its answer.
    explain = forms.BooleanField(required=False)
    #: As of which snapshot, and which one is to stand next to it; empty: as the text says, and none.
    snapshot = forms.CharField(required=False, max_length=200)
    against = forms.CharField(required=False, max_length=200)
    #: By which its page cancels it.
    query = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)


class AuditFilter(forms.Form):
    """Filters of the audit page; all optional. ``request``: only reached by links."""

    q = forms.CharField(
        required=False, max_length=200, label="Text anywhere", widget=forms.TextInput(attrs={"type": "search"})
    )
    actor = forms.CharField(required=False)
    action = forms.CharField(required=False)
    target = forms.CharField(required=False)
    outcome = forms.ChoiceField(required=False, choices=[("", "any outcome"), *((o, o) for o in OUTCOMES)])
    since = forms.DateTimeField(
        required=False, label="From", widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    request = forms.CharField(required=False, max_length=32, widget=forms.HiddenInput)
    until = forms.DateTimeField(
        required=False, label="To", widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
