"""Job specifications: what is accepted with which defaults, and how every refusal names its key."""

from __future__ import annotations

import pytest

from segments.domain.push.push_spec import parse_spec
from segments.errors import InvalidInput

GOOD = """\
executionFrameworkSpec:
  name: spark
  segmentGenerationJobRunnerClassName: org.apache.pinot.plugin.ingestion.batch.spark3.SparkSegmentGenerationJobRunner
jobType: segmentcreationandtarpush
inputDirURI: file:///data/my%20files
outputDirURI: file:///out
includeFileNamePattern: 'glob:**/*.csv'
overwriteOutput: true
pinotFSSpecs:
  - scheme: file
    className: org.apache.pinot.spi.filesystem.LocalPinotFS
recordReaderSpec:
  dataFormat: csv
  className: org.apache.pinot.plugin.inputformat.csv.CSVRecordReader
  configs: {delimiter: "\\t", nullStringValue: NA, multiValueDelimiter: "|"}
tableSpec:
  tableName: orders_OFFLINE
  schemaURI: http://localhost:9000/tables/orders/schema
pinotClusterSpecs:
  - controllerURI: http://localhost:9000
pushJobSpec:
  pushAttempts: 2
authToken: secret
"""


def test_a_specification_for_pinot_is_taken_as_it_is() -> None:
    spec = parse_spec(GOOD)
    assert (spec.table.typed, spec.input_dir, spec.recursive, spec.include, spec.exclude) == (
        "orders_OFFLINE",
        "/data/my files",
        True,
        "glob:**/*.csv",
        None,
    )
    assert (spec.reader.delimiter, spec.reader.null_string, spec.reader.multi_value, spec.reader.skip_header) == (
        "\t",
        "NA",
        "|",
        False,
    )
    assert (spec.name_type, spec.name_configs, spec.target_rows, spec.atomic_append) == (None, {}, None, False)
    assert "authToken" not in spec.body


def test_json_and_values_give_the_same_as_yaml() -> None:
    body = {
        "jobType": "SegmentCreationAndMetadataPush",
        "inputDirURI": "in",
        "tableSpec": {"tableName": "t"},
        "recordReaderSpec": {"dataFormat": "JSON"},
    }
    text = '{"jobType": "SegmentCreationAndMetadataPush", "inputDirURI": "in", "tableSpec": {"tableName": "t"},'
    assert parse_spec(text + ' "recordReaderSpec": {"dataFormat": "JSON"}}') == parse_spec(body)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("jobType: segmentcreationandtarpush", "jobType: Foo"), r"'jobType' 'Foo' does not exist. \(line 4\)"),
        (
            ("jobType: segmentcreationandtarpush", "jobType: SegmentTarPush"),
            "'jobType' 'SegmentTarPush' is not supported",
        ),
        (("jobType: segmentcreationandtarpush\n", ""), "'jobType' is missing"),
        (("overwriteOutput", "overwriteoutput"), r"'overwriteoutput' is not a key .*\(line 8\)"),
        (
            ("tableName: orders", "tablename: orders"),
            r"'tableSpec.tablename' is not a key .*\(line 17\).*Write it 'tableSpec.tableName'",
        ),
        (("authToken: secret", "tlsSpec: {keyStorePath: x}"), r"'tlsSpec' is not supported: .*\(line 23\)"),
        (("orders_OFFLINE", "orders_REALTIME"), r"Only OFFLINE tables|'orders_REALTIME' is a REALTIME table"),
        (
            ("file:///data/my%20files", "ftp://bucket/in"),
            r"'ftp://bucket/in' is not an address of a folder.*\(line 5\)",
        ),
        (("glob:**/*.csv", "**/*.csv"), r"'includeFileNamePattern' .* is not a file name pattern"),
        (("glob:**/*.csv", "regex:(("), "is not a file name pattern"),
        (("dataFormat: csv", "dataFormat: thrift"), "'thrift' is not supported"),
        (('delimiter: "\\t"', "delimeter: x"), r"'recordReaderSpec.configs.delimeter' is not a setting"),
        (('delimiter: "\\t"', "delimiter: xx"), "must be one ASCII character"),
        (("authToken: secret", "jobType: again"), r"'jobType' is there twice in the job specification \(line 23\)"),
        (("pushAttempts: 2", "pushFileNamePattern: 'glob:*'"), "'pushJobSpec.pushFileNamePattern' is not supported"),
        (
            ("  - controllerURI: http://localhost:9000", "  - controllerURI: a\n  - controllerURI: b"),
            "'pinotClusterSpecs' must name one",
        ),
        (
            ("name: spark", "extraConfigs: {segmentTargetRows: -1}"),
            r"segmentTargetRows' must be a whole number from 0 on",
        ),
        (
            ("name: spark", "extraConfigs: {targetRows: 1}"),
            r"'executionFrameworkSpec.extraConfigs.targetRows' is not a key .*\(line 2\)",
        ),
        (
            ("tableName: orders_OFFLINE", "tableName: [orders]"),
            r"tableSpec.tableName: expected text, got a list .*\(line 17\)",
        ),
        (
            ("overwriteOutput: true", "searchRecursively: perhaps"),
            r"searchRecursively: expected true or false, got 'perhaps' .*\(line 8\)",
        ),
        (
            ("overwriteOutput: true", "segmentCreationJobParallelism: 1e99"),
            r"segmentCreationJobParallelism: expected a whole number",
        ),
        (("pushAttempts: 2", "extraConfigs: 5"), r"pushJobSpec.extraConfigs: expected an object, got a"),
        (
            ("nullStringValue: NA", "skipHeader: [1]"),
            r"recordReaderSpec.configs.skipHeader: expected true or false, got a list",
        ),
        (
            ("  - controllerURI: http://localhost:9000", "  - x"),
            r"pinotClusterSpecs\[0\]: expected an object, got text",
        ),
        (
            ("tableSpec:\n", "segmentNameGeneratorSpec: {type: uploadedRealtime}\ntableSpec:\n"),
            "'uploadedRealtime' is not supported",
        ),
    ],
)
def test_a_refusal_names_the_key_and_its_line(change: tuple[str, str], message: str) -> None:
    assert change[0] in GOOD
    with pytest.raises(InvalidInput, match=message):
        parse_spec(GOOD.replace(*change))


@pytest.mark.parametrize("text", ["", "- a", "a: [", "{", '{"a": 1, "a": 2}', "x" * 1_000_001])
def test_text_that_is_no_specification_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="job specification"):
        parse_spec(text)


@pytest.mark.parametrize("path", ['"a\\0b"', "/" + "x" * 5000])
def test_a_path_that_no_file_can_have_is_refused(path: str) -> None:
    text = (
        f"jobType: SegmentCreationAndTarPush\ninputDirURI: {path}\ntableSpec: {{tableName: t}}\nrecordReaderSpec: "
        "{dataFormat: csv}\n"
    )
    with pytest.raises(InvalidInput, match=r"inputDirURI|U\+0000"):
        parse_spec(text)
