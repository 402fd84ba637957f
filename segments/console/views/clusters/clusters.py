"""The clusters that this installation drives: the list, one cluster's state, and adding, changing, checking and
removing a Pinot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from segments.console.access import ADMINISTER, actor_of, may_administer_all, page, refused
from segments.console.cluster_address import cluster_of
from segments.console.cluster_form import ClusterForm
from segments.console.listing import asked
from segments.console.operation import Operation, Outcome, Target
from segments.console.presenters.clusters import cluster_frame
from segments.errors import PinotAdminError
from segments.models import Cluster, Table
from segments.services.access.read_rights import readable_rows
from segments.services.clusters import clusters
from segments.services.clusters.clusters import ClusterCheck
from segments.services.clusters.secret_protection import check_secret_use
from segments.services.core.context import Actor
from segments.services.core.page_addresses import address_in


@page
@require_safe
def cluster_list(request: HttpRequest) -> HttpResponse:
    """All clusters with their state; refreshes itself."""
    counts: dict[str, int] = {}
    tables = readable_rows(Table.objects.all(), request.user, cluster="cluster__name", table="name")
    for name in tables.values_list("cluster__name", flat=True):
        counts[name] = counts.get(name, 0) + 1
    rows = [(line, counts.get(line.row.name, 0)) for line in cluster_frame(request).lines]
    return render(request, "console/clusters.html", {"rows": rows, "may_administer": may_administer_all(request)})


@page
@require_safe
def overview(request: HttpRequest) -> HttpResponse:
    """The page's cluster: is it up, since when and why not; its version and what that lacks; how it is reached and
    read.
    """
    return _page(request)


@page
@require_safe
def banner(request: HttpRequest) -> HttpResponse:
    """The fragment that says on every page of a Pinot that it is down, and of any cluster how far the mirror is that
    reads it for the first time; 204 while there is nothing new to say (``seen``).
    """
    frame, seen = cluster_frame(request), asked(request, "seen")["seen"]
    if seen == frame.current.key:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return render(request, "console/partials/cluster_banner.html", {"clusters": frame, "is_back": True, "seen": seen})


@page
@require_POST
def check(request: HttpRequest) -> HttpResponse:
    """Ask the cluster now, and show every question with its answer."""
    if not may_administer_all(request):
        return refused(request, "checkCluster", cluster_of(request), ADMINISTER)
    return _page(request, clusters.check_cluster(cluster_of(request), actor_of(request)))


@page
@require_http_methods(["GET", "HEAD", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """A new Pinot cluster. It is asked first: what is wrong is shown next to the form, and a second button saves it all
    the same.
    """
    form = ClusterForm(request.POST or None)
    return _edit(request, form, None)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, name: str) -> HttpResponse:
    """How a Pinot cluster is reached. The stored secret is never shown; an empty field keeps it."""
    row = get_object_or_404(Cluster, name=name, kind=Cluster.Kind.PINOT)
    return _edit(request, ClusterForm(request.POST or None, row=row), row)


def _a_pinot(target: Target) -> None:
    get_object_or_404(Cluster, name=target.arguments["name"], kind=Cluster.Kind.PINOT)


def _to_remove(target: Target, plain: Operation) -> Operation:
    name = target.arguments["name"]
    return replace(plain, title=f"Remove {name}", confirm=name)


def _run_remove(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    clusters.remove_cluster(target.arguments["name"], actor)
    return Outcome(f"Cluster {target.arguments['name']} is forgotten here. Pinot itself was not touched.")


REMOVE: Final = Operation(
    action="removeCluster",
    title="Remove a cluster",
    button="Remove",
    right=ADMINISTER,
    everywhere=True,
    asks="nothing",
    is_danger=True,
    place="clusters",
    find=_a_pinot,
    explain=[
        "Its pages go, with the mirror, the stored secret, pins, leases and results of checks that are kept here.",
        "Pinot itself is not touched: its tables, segments and lineage stay as they are. Replacements that are open "
        "there stay open.",
        "The audit record stays. To undo it, add the cluster again; pins and results of checks do not come back.",
    ],
    preview=_to_remove,
    run=_run_remove,
    back=lambda target: address_in(target.arguments["name"], "console:cluster"),
    then=lambda _: reverse("console:clusters"),
)


def _edit(request: HttpRequest, form: ClusterForm, row: Cluster | None) -> HttpResponse:
    action = "changeCluster" if row else "addCluster"
    if request.method == "POST" and not may_administer_all(request):
        return refused(request, action, row.name if row else "", ADMINISTER)
    status: int = HTTPStatus.OK
    found: ClusterCheck | None = None
    if request.method == "POST":
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        if form.is_valid():
            try:
                found = _tried(request, form, row)
                if found.is_ok or request.POST.get("anyway"):
                    return _save(request, form, row, found)
            except PinotAdminError as error:
                form.refuse(error)
                status = error.status
    shown = form.to_show_again() if request.method == "POST" else form
    context = {"form": shown, "row": row, "found": found, "may_administer": may_administer_all(request)}
    return render(request, "console/cluster_form.html", context, status=status)


def _tried(request: HttpRequest, form: ClusterForm, row: Cluster | None) -> ClusterCheck:
    """What the cluster answers to what was typed; nothing is saved."""
    spec = form.spec()
    check_secret_use(request.user, spec, row)
    if row is None:
        clusters.require_free_name(spec.name)
    return clusters.try_cluster(spec)


def _save(request: HttpRequest, form: ClusterForm, row: Cluster | None, found: ClusterCheck) -> HttpResponse:
    actor = actor_of(request, form.cleaned_data["reason"])
    spec = form.spec()
    saved = clusters.change_cluster(spec, actor) if row else clusters.add_cluster(spec, actor)
    clusters.note_check(saved.name, found, actor)
    done = f"Cluster {saved.name} is {'changed' if row else 'added'}."
    wrong = next((step for step in found.steps if step.ok is False), None)
    if wrong is None:
        messages.success(request, f"{done} It answers{f', version {found.version}' if found.version else ''}.")
    else:
        messages.warning(request, f"{done} But: {wrong.message} {wrong.remedy}".strip())
    return redirect(address_in(saved.name, "console:cluster"))


def _page(request: HttpRequest, found: ClusterCheck | None = None) -> HttpResponse:
    frame = cluster_frame(request)
    if frame.current.row.name != cluster_of(request):
        raise Http404
    context: dict[str, Any] = {
        "clusters": frame,
        "line": frame.current,
        "row": frame.current.row,
        "found": found,
        "may_administer": may_administer_all(request),
        "tables": readable_rows(
            Table.objects.filter(cluster__name=cluster_of(request)), request.user, cluster="cluster__name", table="name"
        ).count(),
    }
    return render(request, "console/cluster.html", context)
