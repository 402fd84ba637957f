"""What people type into the console, checked before a service sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.utils.html import format_html

from segments.errors import PinotAdminError
from segments.services.upkeep.passes import PASSES

_MOST_SPEC_BYTES = 1_000_000


class PlainForm(forms.Form):
    """Shows a service's refusal as a form error, message and remedy."""

    #: What services call a field -> what the form does, where the two are not alike.
    called: ClassVar[Mapping[str, str]] = {}

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


class RollbackForm(PlainForm):
    """Reason, the table's name typed, and which preview was confirmed."""

    reason = reason_field("Goes into the audit record, for whoever asks later.")
    confirm = forms.CharField(
        label="Type the table's name to confirm",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    force = forms.BooleanField(required=False, label="Take back a replacement that has not ended; its push will fail")
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, *args: Any, table: str, needs_force: bool, is_open: bool, fingerprint: str, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.table, self.needs_force, self.is_open, self.fingerprint = table, needs_force, is_open, fingerprint
        if not is_open:
            self.fields["force"].label = "Go on though new segments are gone; old and new rows may be seen together"
        self.fields["seen"].initial = fingerprint
        self.fields["confirm"].help_text = format_html("It is <code>{}</code>.", table)
        if not needs_force:
            del self.fields["force"]

    def clean_confirm(self) -> str:
        typed: str = self.cleaned_data["confirm"].strip()
        if typed != self.table:
            raise forms.ValidationError(f"This is not the table's name. Type {self.table} to confirm.")
        return typed

    def clean(self) -> dict[str, Any]:
        if self.needs_force and not self.cleaned_data.get("force") and "force" not in self.errors:
            why = (
                "The replacement is still IN_PROGRESS."
                if self.is_open
                else "New segments are gone that no replacement took away."
            )
            self.add_error("force", f"{why} Tick this to take it back all the same.")
        if self.cleaned_data.get("seen") != self.fingerprint:
            self.data = {**dict(self.data.items()), "seen": self.fingerprint}
            raise forms.ValidationError(
                "The table changed since you saw the preview. Check the new preview below and confirm again."
            )
        return self.cleaned_data


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
                    {"file": "The file is no UTF-8 text. Choose the YAML job specification."}
                ) from error
        elif not (self.cleaned_data.get("spec") or "").strip():
            raise forms.ValidationError({"spec": "Paste a job specification or choose a file."})
        return self.cleaned_data


class ReasonForm(PlainForm):
    """Only a reason: for cancelling."""

    reason = reason_field("Goes into the audit record.")


class OperationForm(PlainForm):
    """A reason, further fields of the operation, and a text to type where the operation asks for one."""

    def __init__(self, *args: Any, confirm: str, more: Mapping[str, forms.Field], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.expected = confirm
        self.fields.update(more)
        self.fields["reason"] = reason_field("Goes into the audit record, for whoever asks later.")
        if confirm:
            self.fields["confirm"] = forms.CharField(
                label="Type to confirm",
                help_text=format_html("Type <code>{}</code>.", confirm),
                widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
            )

    def clean_confirm(self) -> str:
        typed: str = self.cleaned_data["confirm"].strip()
        if typed != self.expected:
            raise forms.ValidationError(f"This does not match. Type {self.expected} to confirm.")
        return typed


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
                "Somebody changed the checks since you opened this page. Look at the rules above, then save again."
            )
        return self.cleaned_data


class PassForm(PlainForm):
    """Which pass over which table, and why."""

    task = forms.ChoiceField(label="Pass", choices=[(n, n) for n in sorted(PASSES)])
    table = forms.ChoiceField(label="Table", required=False)
    reason = reason_field("Goes into the audit record.")

    def __init__(self, *args: Any, tables: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["table"] = forms.ChoiceField(
            label="Table",
            required=False,
            choices=[("", "All tables"), *((t, t) for t in tables)],
            initial=self.initial.get("table"),
        )


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


class AuditFilter(forms.Form):
    """Filters of the audit page; all optional."""

    actor = forms.CharField(required=False)
    action = forms.CharField(required=False)
    target = forms.CharField(required=False)
    outcome = forms.ChoiceField(
        required=False, choices=[("", "any outcome"), ("done", "done"), ("refused", "refused"), ("failed", "failed")]
    )
    since = forms.DateTimeField(
        required=False, label="From (UTC)", widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    until = forms.DateTimeField(
        required=False, label="To (UTC)", widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
