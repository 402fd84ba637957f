"""The lists of commands of docs/deployment.md, to be run as they stand."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping

from tests.processes.conftest import PROJECT

_PROGRAM = f"{shlex.quote(sys.executable)} -m pinotadmin"


def lists_of(section: str) -> list[str]:
    """The lists below this heading, in their order."""
    text = (PROJECT / "docs/deployment.md").read_text()
    part = text.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^```\n(.*?)^```$", part, re.DOTALL | re.MULTILINE)


def filled(commands: str, values: Mapping[str, str]) -> str:
    """With the words that stand for an installation's own values replaced, and our program in place of the installed
    one.
    """
    for word, value in values.items():
        assert re.search(rf"\b{word}\b", commands), f"{word} does not stand in the list"
        commands = re.sub(rf'(?<=["=:]){word}\b', value.replace("\\", "\\\\"), commands)
    return re.sub(r"^((?:[A-Z_]+=\S+ )*)pinotadmin\b", rf"\1{_PROGRAM}", commands, flags=re.MULTILINE)


def part_of(role: str) -> tuple[str, str]:
    """Of the list for each host: the line that sets its environment, and the one that runs this part."""
    first, *lines = lists_of("Many hosts")[2].splitlines()
    (line,) = [line for line in lines if line.split()[:3] == ["pinotadmin", "run", role]]
    return first, line
