"""Takes a suite of every kind of cluster over: its tests that a real Pinot can run, under this folder's fixtures."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest
from _pytest.fixtures import FixtureFunctionDefinition

MARKS = [pytest.mark.real_pinot, pytest.mark.django_db, pytest.mark.timeout(400)]


def tests_with(suite: ModuleType, fixture: str) -> dict[str, Any]:
    """{name: test} of those that get the cluster of this fixture, and fixtures of theirs that build on it.

    What sets state as servers do gets a simulated cluster, and stays where it is.
    """
    found = {
        name: item
        for name, item in vars(suite).items()
        if fixture in _arguments(item) and (name.startswith("test_") or isinstance(item, FixtureFunctionDefinition))
    }
    assert found, f"no test of {suite.__name__} gets the fixture {fixture}"
    return found


def without(found: Mapping[str, Any], left: Mapping[str, str]) -> dict[str, Any]:
    """Those tests but for ``left``: {test: why it is for simulated clusters only}. A name of no test is a mistake."""
    unknown = left.keys() - found.keys()
    assert not unknown, f"left out, though there are no such tests: {sorted(unknown)}"
    return {name: item for name, item in found.items() if name not in left}


def _arguments(item: Any) -> set[str]:
    wrapped = item._get_wrapped_function() if isinstance(item, FixtureFunctionDefinition) else item
    return set(inspect.signature(wrapped).parameters) if inspect.isfunction(wrapped) else set()
