"""Messages of a table's stream: the last ones, or from the beginning, an offset or a time on, filtered by a text."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from segments import wiring
from segments.console.access import page
from segments.console.views.realtime.realtime_table import realtime
from segments.console.views.realtime.stream.page import partitions_of
from segments.console.views.tables.tables import head
from segments.errors import PinotAdminError
from segments.services.realtime.messages.browsing import MessageWish, browse
from segments.services.set_aside.listing import may_see_payloads

#: Messages of a page, characters of one that are shown there, and seconds between two reads of a followed page.
_SHOWN: Final = 50
_LONGEST: Final = 2_000
_EVERY_S: Final = 3


class MessageFilter(forms.Form):
    """Which messages; all optional. An offset comes before a time, a time before the place."""

    partition = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    place = forms.ChoiceField(
        required=False, label="Show", choices=[("latest", "last messages"), ("earliest", "first messages")]
    )
    since = forms.DateTimeField(
        required=False, label="Stored from",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"}),
    )  # fmt: skip
    offset = forms.CharField(
        required=False, max_length=60, label="From offset", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    contains = forms.CharField(
        required=False, max_length=200, label="Contains", widget=forms.TextInput(attrs={"type": "search"})
    )

    def wish(self, partition: int) -> MessageWish:
        """What it asks for."""
        data = self.cleaned_data
        return MessageWish(
            partition, _SHOWN, data["offset"].strip(), data["since"],
            "earliest" if data["place"] == "earliest" else "latest", data["contains"].strip(),
        )  # fmt: skip


@page
@require_safe
def messages(request: HttpRequest, typed: str) -> HttpResponse:
    """A page of them; with ``follow`` it renews itself."""
    table, name = realtime(request, typed)
    ctx = wiring.context(table.cluster.name)
    sees = may_see_payloads(request.user, table.cluster.name, name)
    form, partitions = MessageFilter(request.GET), partitions_of(table)
    context: dict[str, Any] = {
        "form": form, "partitions": partitions, "sees": sees, "reads_streams": ctx.engine.offers.reads_streams,
        "longest": _LONGEST, "every_s": _EVERY_S,
    }  # fmt: skip
    if sees and context["reads_streams"] and form.is_valid():
        given = form.cleaned_data["partition"]
        context["chosen"] = chosen = given if given is not None else (partitions or [0])[0]
        wish = form.wish(chosen)
        kept = {k: str(v) for k, v in request.GET.items() if v and k not in ("offset", "since", "place", "follow")}
        context |= {"is_tail": wish.is_tail, "is_followed": wish.is_tail and request.GET.get("follow") == "1"}
        context["follow_query"] = urlencode({**kept, "partition": chosen, "follow": 1})
        context["still_query"] = urlencode({**kept, "partition": chosen})
        try:
            context["found"] = found = browse(ctx, name, wish)
            context["next_query"] = urlencode({**kept, "partition": chosen, "offset": found.next_offset})
            context["first_query"] = urlencode({**kept, "partition": chosen, "place": "earliest"})
        except PinotAdminError as error:
            context["trouble"] = error
    return render(request, "console/table_messages.html", {**head(request, table, "stream"), **context})
