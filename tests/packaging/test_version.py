"""A version is written in few places, and they agree."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pinotadmin.version import VERSION
from tests.packaging.test_chart import CHART

ROOT = Path(__file__).resolve().parents[2]


def test_every_place_that_names_our_version_names_this_one() -> None:
    chart = dict(re.findall(r"^(version|appVersion): (.*)$", (CHART / "Chart.yaml").read_text(), re.M))
    answer = json.loads((ROOT / "segments/api/documentation/examples/clusters.json").read_text())["GET /version"]
    image = re.findall(r"REGISTRY/pinotadmin:(\S+)", (ROOT / "docs/deployment.md").read_text())
    assert chart == {"version": VERSION, "appVersion": VERSION}
    assert answer["answers"]["200"]["pinotadmin"] == VERSION
    assert image == [VERSION, VERSION]


def test_the_newest_changes_are_unreleased_or_of_this_version() -> None:
    newest = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)[0]
    assert newest == "Unreleased" or re.fullmatch(rf"{re.escape(VERSION)} \(\d{{4}}-\d\d-\d\d\)", newest)
