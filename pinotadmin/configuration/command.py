"""``pinotadmin config show|check|spark``: every value with its source, and what is wrong with them; the same for what
Spark is started with.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence

from pinotadmin.configuration import spark
from pinotadmin.configuration.given import Given, Setting, given
from pinotadmin.configuration.review import Finding, findings
from segments.secret_texts import MASK, mask_text


def run(arguments: Sequence[str]) -> int:
    """Show or check; the exit status is 1 where something is wrong."""
    asked = _parser().parse_args(arguments)
    given.stops_at_problems = False
    settings = importlib.import_module("pinotadmin.settings")
    if asked.command == "spark":
        return spark.show(settings.SPARK_MASTER, settings.DATA_DIR, as_json=asked.json)
    found = findings(given, connect=getattr(asked, "connect", False))
    if asked.json:
        sys.stdout.write(json.dumps(_document(given, found), indent=2) + "\n")
    elif asked.command == "show":
        _show(given, only_set=asked.set)
    else:
        _print_findings(found)
    return 1 if asked.command == "check" and any(f.is_error for f in found) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pinotadmin config", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="show|check|spark")
    show = commands.add_parser("show", help="every value, where it comes from and what it is for")
    show.add_argument("--set", action="store_true", help="only what the environment or the file sets")
    check = commands.add_parser("check", help="what is wrong; exit status 1 if anything is")
    check.add_argument(
        "--connect", action="store_true", help="try those of ZooKeeper, Redis, database and deep store that are set"
    )
    about_spark = commands.add_parser("spark", help="what a push starts Spark with; exit status 1 if it is wrong")
    for command in (show, check, about_spark):
        command.add_argument("--json", action="store_true", help="print JSON")
    return parser


def shown(setting: Setting) -> str:
    """The text of a value as people may see it: secrets, also those within addresses, are masked."""
    if setting.is_secret and "://" not in setting.text:
        return MASK if setting.text else ""
    return mask_text(setting.text)


def _show(values: Given, *, only_set: bool) -> None:
    for setting in values.settings.values():
        if only_set and setting.source == "default":
            continue
        sys.stdout.write(f"{setting.name} = {shown(setting) or '(none)'}\n    {setting.source}: {setting.purpose}\n")
        if setting.problem:
            sys.stdout.write(f"    WRONG: {setting.problem}\n")


def _print_findings(found: Sequence[Finding]) -> None:
    for finding in found:
        sys.stdout.write(f"{'error' if finding.is_error else 'warning'}: {finding.message}\n")
    errors = sum(f.is_error for f in found)
    sys.stdout.write(f"{errors} wrong, {len(found) - errors} to consider.\n" if found else "Nothing is wrong.\n")


def _document(values: Given, found: Sequence[Finding]) -> dict[str, object]:
    return {
        "settings": [
            {"name": s.name, "value": shown(s), "source": s.source, "purpose": s.purpose, "problem": s.problem}
            for s in values.settings.values()
        ],
        "findings": [{"message": f.message, "isError": f.is_error} for f in found],
    }
