"""The admin page of grants: rights for tables of a cluster by pattern. Changes come on record by
``services.people_audit``.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from unfold.admin import ModelAdmin

from segments import wiring
from segments.models import Grant
from segments.services.access.rights import EVERYTHING


class GrantForm(forms.ModelForm):  # type: ignore[type-arg]  # takes no arguments at run time
    """One user or one group; a cluster that exists, or all."""

    class Meta:
        model = Grant
        fields = ("user", "group", "cluster", "tables", "right")

    def clean_cluster(self) -> str:
        """A name that nobody has would open nothing, and something else later."""
        name: str = self.cleaned_data["cluster"].strip()
        if name != EVERYTHING and name not in wiring.cluster_names():
            raise forms.ValidationError(
                f"There is no cluster '{name}'. Write {', '.join(wiring.cluster_names())} or *."
            )
        return name

    def clean_tables(self) -> str:
        """Spaces would match nothing."""
        pattern: str = self.cleaned_data["tables"].strip()
        if not pattern or " " in pattern or "," in pattern:
            raise forms.ValidationError("One pattern, such as sales_*. Give another grant for another pattern.")
        return pattern

    def clean(self) -> dict[str, Any]:
        """For whom."""
        found = super().clean() or {}
        if bool(found.get("user")) == bool(found.get("group")):
            raise forms.ValidationError("Choose a user or a group, and only one of them.")
        return found


@admin.register(Grant)
class GrantAdmin(ModelAdmin):  # type: ignore[misc]  # unfold ships no types
    """Who may operate or administer which tables; rights for the whole installation are permissions of users and
    groups.
    """

    form = GrantForm
    list_display = ["__str__", "user", "group", "cluster", "tables", "right"]
    list_filter = ["cluster", "right", "group"]
    list_select_related = ["user", "group"]
    search_fields = ["user__username", "group__name", "tables"]
