"""Processes that answer requests: threads that wait get the interpreter soon, and garbage is collected seldom."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from segments.processes.interpreter import collect_seldom, load_undisturbed, take_short_turns
from tests.processes.conftest import PROJECT


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    turn, thresholds = sys.getswitchinterval(), gc.get_threshold()
    yield
    sys.setswitchinterval(turn)
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def test_a_thread_that_computes_gives_way_within_two_milliseconds() -> None:
    take_short_turns()
    assert sys.getswitchinterval() < 0.002


def test_what_is_loaded_by_then_is_walked_over_no_more() -> None:
    kept = [object() for _ in range(10)], {}
    collect_seldom()
    assert not any(found is kept for found in gc.get_objects())
    assert gc.get_threshold()[0] > 10_000


def test_garbage_is_hardly_collected_while_modules_are_loaded_and_again_afterwards() -> None:
    load_undisturbed()
    assert gc.get_threshold()[0] == 50_000
    collect_seldom()
    load_undisturbed()  # by a module that is loaded late
    assert gc.get_threshold()[0] == 20_000


def test_a_process_that_serves_no_pages_loads_none_and_one_that_does_has_all_of_the_admin() -> None:
    code = (
        "import os, sys, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'pinotadmin.settings'; django.setup();"
        "from segments.management.commands import run_mirror, run_server, setup_database, up;"
        "from segments import tasks;"
        "pages = ('segments.admin', 'segments.console.views', 'unfold.admin', 'pinotadmin.urls');"
        "assert not [name for name in pages if name in sys.modules], sorted(sys.modules);"
        "from django.contrib import admin; import pinotadmin.urls;"
        "print(*sorted({type(shown).__module__.partition('.')[0] for shown in admin.site._registry.values()}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "segments\n"), done.stderr[-2000:]


def test_a_process_that_collects_seldom_ends_without_a_list_of_what_duckdb_leaks() -> None:
    code = "import duckdb, gc; from segments.processes.interpreter import collect_seldom; {}"
    for freezes, has_list in (("collect_seldom()", False), ("gc.freeze()", True)):
        command = [sys.executable, "-c", code.format(freezes)]
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0
        assert ("leaked" in done.stderr) == has_list, done.stderr
