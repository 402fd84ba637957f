"""The lists of docs/metrics.md, made of the declarations and the alert rules.

``python -m tests.metrics.document`` writes them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from segments.metrics.catalog import CAPABILITIES, METRICS
from segments.metrics.metric_kinds import Histogram, Metric

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/metrics.md"
ALERTS = ROOT / "monitoring/alerts.yml"
_NAME = re.compile(r"pinotadmin_[a-z0-9_]+")
_MARK = re.compile(r"(<!-- metrics: (?P<part>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rules() -> list[dict[str, Any]]:
    """Every alert rule."""
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def names_in(expression: str) -> set[str]:
    """Metrics that an expression reads, by the names that are declared; those of a histogram's lines by its own."""
    histograms = {m.full_name for m in METRICS if isinstance(m, Histogram)}
    found = set()
    for name in _NAME.findall(expression):
        whole = re.sub(r"_(bucket|sum|count)$", "", name)
        found.add(whole if whole in histograms else name)
    return found


def lines_of(part: str) -> Iterator[str]:
    """The list of one capability."""
    module = next(m for m in CAPABILITIES if m.__name__.endswith(f".{part}"))
    for metric in vars(module).values():
        if isinstance(metric, Metric):
            yield from textwrap.wrap(
                _sentence(metric), 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )


def _sentence(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    facts = [metric.kind, *([f"by {labels}"] if labels else []), f"on {', '.join(metric.shown_by)}"]
    text = f"- `{metric.full_name}` ({'; '.join(facts)}): {metric.text}"
    if metric.pinot:
        text += f" In Pinot: {', '.join(f'`{name}`' for name in metric.pinot)}."
    alerts = [rule["alert"] for rule in rules() if metric.full_name in names_in(rule["expr"])]
    return text + (f" Alert: {', '.join(alerts)}." if alerts else "")


def with_lists(text: str) -> str:
    """The document with its lists as they should be."""
    return _MARK.sub(lambda m: m[1] + "\n" + "\n".join(lines_of(m["part"])) + "\n\n" + m[3], text)


if __name__ == "__main__":
    DOCUMENT.write_text(with_lists(DOCUMENT.read_text()))
