"""One page for every button that changes something: what will happen, a reason, perhaps a typed confirmation, the
outcome, the way back.

A button is an ``Operation``, declared as data; ``operation_page`` makes its view. Rights, CSRF, refusals, messages and
the redirect are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from typing import Any, Final, Literal, Protocol

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods

from segments.console.access import (
    OPERATE,
    actor_of,
    find_table,
    may,
    may_administer_all,
    page,
    refused,
    shown_status,
)
from segments.console.cluster_address import ctx_of
from segments.console.forms import OperationForm
from segments.console.mirror_wait import wait_for_mirror
from segments.console.rest_calls.call import Rest, as_curl
from segments.console.rest_calls.declared import call_of
from segments.console.rest_calls.on_page import pressed_on
from segments.console.unavailable_operations import lacking_here, unreachable_here
from segments.console.views.tables.tables import head
from segments.errors import PinotAdminError, StateConflict
from segments.models import Table
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.core.page_addresses import RETURN_TO, admin_page

#: What stands above an operation that concerns no table: (its place in the navigation, page, words of the link).
_PLACES: Final = {
    "tables": ("tables", "tables", "Tables"),
    "servers": ("servers", "servers", "Servers"),
    "dropped": ("tables", "dropped_tables", "Deleted tables"),
    "pushes": ("pushes", "pushes", "Pushes"),
    "tasks": ("passes", "tasks", "Minion tasks"),
    "clusters": ("clusters", "clusters", "Clusters"),
    "passes": ("passes", "passes", "Passes"),
    "tokens": ("tokens", "tokens", "API tokens"),
    "alerts": ("findings", "alerts", "Alerts"),
    "findings": ("findings", "findings", "Inbox"),
}


@dataclass
class Target:
    """What a button is pressed on. ``arguments``: what its address names. ``row`` and ``name``: the table, where it
    concerns one.
    """

    request: HttpRequest
    arguments: Mapping[str, Any]
    row: Table | None = None

    @cached_property
    def ctx(self) -> Context:
        """The parts of the page's cluster."""
        return ctx_of(self.request)

    @property
    def table(self) -> Table:
        """The table; only for operations that concern one."""
        if self.row is None:
            raise LookupError("This operation concerns no table.")
        return self.row

    @cached_property
    def name(self) -> TableName:
        """The table's name."""
        return find_table(self.request, self.table.name)[1]

    @property
    def is_post(self) -> bool:
        """Is the button pressed, or is its page only shown?"""
        return self.request.method == "POST"

    def values(self, key: str) -> list[str]:
        """What the form or the address carries under this name, each once."""
        return list(dict.fromkeys((self.request.POST if self.is_post else self.request.GET).getlist(key)))

    def value(self, key: str) -> str:
        """The last of them, or nothing."""
        return (self.request.POST if self.is_post else self.request.GET).get(key, "")

    @property
    def return_to(self) -> str:
        """The page of the admin that the button was reached from, and leads back to; else empty."""
        return admin_page(self.value(RETURN_TO))

    def address(self, page_name: str, *names: Any) -> str:
        """The address of a page of the table."""
        return reverse(f"console:{page_name}", args=[self.table.name, *names])


def table_of(target: Target) -> None:
    """The table that the address names, which the person may read."""
    target.row = find_table(target.request, str(target.arguments["typed"]))[0]


def no_table(_: Target) -> None:
    """It concerns the cluster, or the installation."""


def back_to(page_name: str, *names: str) -> Callable[[Target], str]:
    """The address of a page, made from the table and from what the operation's own address names so."""

    def address(target: Target) -> str:
        table = [target.row.name] if target.row else []
        return reverse(f"console:{page_name}", args=[*table, *(target.arguments[n] for n in names)])

    return address


@dataclass(frozen=True)
class Outcome:
    """What was done, as one sentence, and where it can be undone (an address and the words of its link; empty:
    nowhere).

    ``answer``: a page that shows what was found instead of a message, for what no message may carry along.
    ``problems``: what was refused of several things that were changed together.
    """

    sentence: str
    undo: str = ""
    undo_text: str = "Undo"
    problems: Sequence[str] = ()
    answer: HttpResponse | None = None


class Run(Protocol):
    """What a button does. Gets the form's cleaned values; raises PinotAdminError for what is refused."""

    def __call__(self, target: Target, values: Mapping[str, Any], actor: Actor, /) -> Outcome: ...


@dataclass(frozen=True)
class Operation:
    """One button. ``action`` is its name in the audit, ``action_of`` that of one that is refused, where it depends on
    what the form says; ``explain`` says in sentences what will happen and how it is
    taken back; ``back``: where "Go back" leads, and success unless ``then`` says otherwise.

    ``preview`` fills in what is only known of a certain target, and may replace any of the rest. ``find`` finds the
    table, or raises.

    Shown beforehand: ``about``: a template under the title; ``lines``: what queries see before and after;
    ``warnings``; ``notes``: what Pinot itself does; ``lists``: (title, names) of what it concerns; ``partial``: a
    template of its own, with ``extra``; ``instead``: such a template in place of all of this, for what is done already.
    ``why_not``: why it cannot be done now (the button is shown disabled with it), under ``why_not_title``.

    The form: ``fields`` by name; ``confirm``: a text that must be typed, ``confirm_what`` says what it is; ``hold``:
    values that it carries along unseen; ``seen``: stands for the preview, where a confirmation of another one is to be
    noticed. ``call``: the REST call that does the same, where only the preview knows it; else the declared one.

    Who and when: ``right``, for the table or (``everywhere``) the whole installation; empty: ``find`` decided;
    ``is_hidden``: who lacks it may not even see the page.
    ``needs``: what the cluster's version must be able to do (a name of ``pinot_version``). ``asks``: what it needs of a
    Pinot cluster that may be down: changing it, only reading it, or nothing. ``tab`` of the table, or ``place``: where
    it stands.
    """

    action: str
    title: str
    button: str
    run: Run
    back: Callable[[Target], str]
    then: Callable[[Target], str] | None = None
    explain: Sequence[str] = ()
    find: Callable[[Target], None] = table_of
    preview: Callable[[Target, Operation], Operation] | None = None
    about: str = ""
    lines: Sequence[Any] = ()
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()
    lists: Sequence[tuple[str, Sequence[str]]] = ()
    partial: str = ""
    instead: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    why_not: str = ""
    why_not_title: str = "This cannot be done now."
    fields: Mapping[str, forms.Field] = field(default_factory=dict)
    confirm: str = ""
    confirm_what: str = ""
    hold: Mapping[str, Sequence[str]] = field(default_factory=dict)
    seen: str = ""
    call: Rest | None = None
    is_danger: bool = False
    symbol: str = ""
    right: str = OPERATE
    everywhere: bool = False
    is_hidden: bool = False
    needs: str = ""
    asks: Literal["change", "reading", "nothing"] = "change"
    action_of: Callable[[Target], str] | None = None
    tab: str = "overview"
    place: str = "servers"


def operation_page(operation: Operation) -> Callable[..., Any]:
    """The view of a button: GET shows the page; POST does it and redirects with a message that carries the way back.
    Nothing is done without a right, a reason and, where wanted, the typed confirmation.
    """

    @page
    @require_http_methods(["GET", "HEAD", "POST"])
    def view(request: HttpRequest, /, **arguments: Any) -> HttpResponse:
        target = Target(request, arguments)
        operation.find(target)
        if (operation.is_hidden or (target.is_post and target.row)) and not _may(target, operation):
            return _refused(target, operation)
        shown = _shown(target, operation)
        return _press(target, operation, shown) if target.is_post else _show(target, shown)

    return view


def _shown(target: Target, operation: Operation) -> Operation:
    """The operation as it is on this target now."""
    shown = operation.preview(target, operation) if operation.preview else operation
    if shown.needs:
        return replace(shown, why_not=shown.why_not or lacking_here(target.request, shown.needs))
    return shown


def _show(target: Target, shown: Operation) -> HttpResponse:
    # Only shown: who presses all the same is answered by the cluster, which may be back meanwhile.
    is_reading = shown.asks == "reading"
    down = unreachable_here(target.request, is_reading=is_reading) if shown.asks != "nothing" else ""
    return _page(target, replace(shown, why_not=shown.why_not or down), OperationForm(shown))


def _press(target: Target, declared: Operation, shown: Operation) -> HttpResponse:
    request = target.request
    if not _may(target, shown):
        return _refused(target, shown)
    form = OperationForm(shown, request.POST)
    if not form.is_valid():
        return _page(target, shown, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    if shown.needs and shown.why_not:
        form.refuse(StateConflict(shown.why_not))
        return _page(target, shown, form, HTTPStatus.CONFLICT)
    try:
        outcome = shown.run(target, form.cleaned_data, actor_of(request, form.cleaned_data["reason"]))
    except PinotAdminError as error:
        form.refuse(error)
        # What was confirmed may have changed meanwhile: it is shown as it is now.
        now = _shown(target, declared) if shown.seen else shown
        return _page(target, now, form, shown_status(request, error))
    if outcome.answer is not None:
        return outcome.answer
    if target.row:
        wait_for_mirror(target.ctx, target.row, shown.tab)
    undo = format_html(' <a href="{}">{}</a>', outcome.undo, outcome.undo_text) if outcome.undo else ""
    if outcome.sentence:
        messages.success(request, format_html("{}{}", outcome.sentence, undo))
    for problem in outcome.problems:
        messages.error(request, problem)
    return redirect(target.return_to or (shown.then or shown.back)(target))


def _may(target: Target, operation: Operation) -> bool:
    if operation.everywhere:
        return may_administer_all(target.request)
    return not operation.right or may(target.request, operation.right, target.row.name if target.row else None)


def _named(target: Target, operation: Operation) -> str:
    """What the audit record of a refusal names: the table, what is listed, or what the address names."""
    if target.row:
        return target.row.name
    listed = ",".join(name for _, names in operation.lists for name in names)
    return listed or ",".join(str(v) for v in target.arguments.values())


def _refused(target: Target, operation: Operation) -> HttpResponse:
    table = target.row.name if target.row else None
    action = operation.action_of(target) if operation.action_of else operation.action
    return refused(target.request, action, _named(target, operation), operation.right, table=table)


def _page(target: Target, shown: Operation, form: OperationForm, status: int = HTTPStatus.OK) -> HttpResponse:
    here, above, above_text = _PLACES[shown.place]
    frame = head(target.request, target.row, shown.tab) if target.row else {"here": here, "above": f"console:{above}"}
    context = {
        **frame,
        "base": "console/table_base.html" if target.row else "console/base.html",
        "above_text": above_text,
        "operation": shown,
        "back": target.return_to or shown.back(target),
        "return_to": {RETURN_TO: target.return_to} if target.return_to else {},
        "form": form,
        "may_do": _may(target, shown),
        "curl": _curl(target, shown),
        **shown.extra,
    }
    return render(target.request, "console/operation.html", context, status=status)


def _curl(target: Target, shown: Operation) -> str:
    """The same as a call of the REST API; empty where there is none."""
    request, arguments = target.request, {key: str(value) for key, value in target.arguments.items()}

    def chosen(key: str) -> Sequence[str]:
        return shown.hold.get(key) or target.values(key)

    names = {**arguments, "person": request.user.get_username()}
    names["from"] = ",".join(dict.fromkeys([*filter(None, [arguments.get("segment")]), *chosen("s")]))
    if target.row:
        names |= {"table": target.row.name, "kind": target.row.type}
    pressed = pressed_on(request, names, chosen)
    found = shown.call or call_of(request.resolver_match.url_name or "" if request.resolver_match else "", pressed)
    return as_curl(found, pressed) if found else ""
