"""Finds the REALTIME table of an address, for the pages of consumption."""

from __future__ import annotations

from django.http import Http404, HttpRequest

from segments.console.access import find_table
from segments.console.operation import Target
from segments.models import Table
from segments.names import REALTIME, TableName


def realtime(request: HttpRequest, typed: str) -> tuple[Table, TableName]:
    """The REALTIME table of an address; 404 for any other."""
    table, name = find_table(request, typed)
    if name.type != REALTIME:
        raise Http404
    return table, name


def realtime_table(target: Target) -> None:
    """The same for a button."""
    target.row = realtime(target.request, str(target.arguments["typed"]))[0]
