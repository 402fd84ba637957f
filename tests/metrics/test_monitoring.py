"""The document, the dashboard and the alert rules name what is exported, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from segments.metrics.catalog import METRICS
from segments.metrics.metric_kinds import DECLARED
from tests.metrics.document import DOCUMENT, ROOT, names_in, rules, with_lists

DASHBOARD = json.loads((ROOT / "monitoring/dashboard.json").read_text())
#: What Prometheus adds to every series.
ADDED = {"instance", "job", "le"}
#: Names of the five documents that this installation follows, and of Pinot's code for the same.
SEEDS = (
    "pauselessConsumptionEnabled", "segmentBuildFailures", "segmentBuildFailure", "reingestionFailures",
    "segmentReingestionFailure", "segmentsInErrorState", "segmentsMissingDownloadUrl", "numStartReplaceFailure",
    "numEndReplaceFailure", "numRevertReplaceFailure", "pauselessSegmentsInErrorCount",
    "pauselessSegmentsInUnrecoverableErrorCount", "segmentMissingDeepStoreLink", "llcStreamDataLoss",
    "numberOfReplicas", "segmentsWithInvalidStartTime", "segmentsWithInvalidEndTime", "llcZookeeperFetchFailures",
    "llcSegmentsDeepStoreUploadRetryQueueSize", "deletedTmpSegmentCount", "segmentSizeAutoReduction",
    "partitionGroupMetadataFetchError", "reingestedSegmentUploadsInProgress", "numRowsThreshold",
    "committingSegmentSize", "missingConsumingSegmentNewPartitionCount", "missingConsumingSegmentMaxDurationMinutes",
    "missingSegmentCount", "offlineSegmentDelayHours", "lastPushTimeDelayHours", "offsetAutoResetSkippedOffsets",
    "offsetAutoResetBackfillOffsets", "untrackedSegmentsCount", "retentionManagerError",
    "realtimeIngestionUpstreamOffset", "realtimeIngestionConsumingOffset", "realtimeIngestionDelayReportingStatus",
    "llcZookeeperUpdateFailures", "llcSegmentsDeepStoreUploadRetrySuccess", "llcSegmentsDeepStoreUploadRetryError",
    "llcControllerResponse", "resourceUtilizationLimitExceeded", "controllerPeriodicTaskRun",
    "controllerPeriodicTaskError", "periodicTaskError", "periodicTaskNumTablesProcessed", "replicationFromConfig",
    "segmentCount", "segmentCountIncludingReplaced", "percentOfReplicas", "percentSegmentsAvailable",
    "segmentsWithLessReplicas", "tableCompressedSize", "tableConsumptionPaused", "tableDisabled", "totalDocumentCount",
    "missingConsumingSegmentTotalCount", "maxRecordsLag", "maxRecordAvailabilityLagMs", "realtimeIngestionDelayMs",
    "endToEndRealtimeIngestionDelayMs", "realtimeIngestionOffsetLag", "lineageBlockedDeleteCount",
)  # fmt: skip


def expressions() -> Iterator[tuple[str, str]]:
    """(where, expression) of every rule, panel and variable."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["definition"]


def test_the_document_lists_every_metric_as_it_is_declared_and_no_other() -> None:
    text = DOCUMENT.read_text()
    assert with_lists(text) == text, "python -m tests.metrics.document writes the lists again"
    listed = re.findall(r"^- `(pinotadmin_\w+)`", text, re.MULTILINE)
    assert sorted(listed) == sorted(DECLARED)


def test_every_name_of_pinots_documents_is_found_in_the_document() -> None:
    text = DOCUMENT.read_text()
    assert [name for name in SEEDS if f"`{name}`" not in text] == []


@pytest.mark.parametrize(("where", "expression"), list(expressions()))
def test_rules_and_panels_read_what_exists_by_labels_that_it_has(where: str, expression: str) -> None:
    names = names_in(expression)
    assert names
    assert not names - DECLARED.keys()
    known = ADDED | {label for name in names for label in DECLARED[name].labels}
    asked = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=(?!=))", "".join(re.findall(r"\{(.*?)\}", expression))))
    for group in re.findall(r"\b(?:by|on)\s*\((.*?)\)", expression):
        asked |= {label.strip() for label in group.split(",")}
    assert not asked - known
    assert expression.count("(") == expression.count(")")
    assert expression.count("{") == expression.count("}")


def test_counters_are_read_as_increases_and_gauges_are_not() -> None:
    for where, expression in expressions():
        for name in names_in(expression):
            is_counter = DECLARED[name].kind == "counter"
            pattern = rf"(increase|rate)\({name}(\{{[^}}]*\}})?\["
            assert bool(re.search(pattern, expression)) == is_counter or DECLARED[name].kind == "histogram", where


def test_rules_have_what_a_person_needs_at_night() -> None:
    found = rules()
    assert len({rule["alert"] for rule in found}) == len(found)
    for rule in found:
        assert re.fullmatch(r"Pinotadmin[A-Z]\w+", rule["alert"])
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
        assert set(rule["annotations"]) == {"summary", "description"}
        assert re.fullmatch(r"\d+[smhd]", rule.get("for", "0s"))
        labels = {label for name in names_in(rule["expr"]) for label in DECLARED[name].labels} | ADDED
        assert set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))) <= labels


def test_the_dashboard_can_be_imported() -> None:
    panels: list[dict[str, Any]] = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert {p["datasource"]["uid"] for p in panels if p["type"] != "row"} == {"${datasource}"}
    for panel in panels:
        assert 0 <= panel["gridPos"]["x"] <= panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
    assert {variable["name"] for variable in DASHBOARD["templating"]["list"]} == {"datasource", "cluster", "table"}


def test_the_example_for_prometheus_reads_the_rules() -> None:
    example = yaml.safe_load((ROOT / "monitoring/prometheus.yml").read_text())
    assert example["rule_files"] == ["alerts.yml"]
    assert {job["metrics_path"] for job in example["scrape_configs"]} == {"/metrics"}


def test_every_metric_has_a_text_that_ends_as_a_sentence_and_a_name_as_prometheus_wants_it() -> None:
    for metric in METRICS:
        assert metric.text.endswith("."), metric.full_name
        assert re.fullmatch(r"pinotadmin_[a-z][a-z0-9_]*", metric.full_name)
        assert metric.full_name.endswith("_total") == (metric.kind == "counter"), metric.full_name
        assert metric.kind != "histogram" or metric.full_name.endswith("_seconds")
