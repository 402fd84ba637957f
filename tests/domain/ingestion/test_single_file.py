"""``batchConfigMapStr``: which keys count, which are Pinot's without effect here, and the push that they ask for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from segments.domain.ingestion.single_file import BatchConfig, parse_batch_config
from segments.errors import InvalidInput
from segments.names import OFFLINE, TableName

TABLE = TableName("t", OFFLINE)


def read(**keys: Any) -> BatchConfig:
    return parse_batch_config(json.dumps({"inputFormat": "csv", **keys}))


def test_pinots_keys_without_effect_are_taken() -> None:
    keys = {"push.mode": "TAR", "overwriteOutput": "true", "inputDirURI": "/elsewhere"}
    job = read(**keys).job(TABLE, "/up/1", "7")
    assert (job["inputDirURI"], job["tableSpec"]) == ("/up/1", {"tableName": "t"})


def test_the_format_is_taken_in_any_case_and_keys_without_a_value_are_left_out() -> None:
    found = read(inputFormat=" CSV ", **{"recordReader.className": None})
    assert (found.data_format, found.reader_class) == ("csv", None)


def test_a_postfix_that_is_given_comes_before_ours() -> None:
    names = {"segmentNameGenerator.configs.segment.name.postfix": "mine", "segmentNameGenerator.configs.x": "1"}
    assert read(**names).job(TABLE, "/up/1", "7")["segmentNameGeneratorSpec"]["configs"] == {
        "segment.name.postfix": "mine",
        "x": "1",
    }
    assert read().job(TABLE, "/up/1", "7")["segmentNameGeneratorSpec"]["configs"] == {"segment.name.postfix": "7"}


def test_logins_are_not_part_of_the_job() -> None:
    found = read(**{"input.fs.className": "S3PinotFS", "input.fs.prop.secretKey": "hidden-1"})
    assert found.file_system == {"input.fs.className": "S3PinotFS", "input.fs.prop.secretKey": "hidden-1"}
    assert "hidden-1" not in json.dumps(found.job(TABLE, "/up/1", "7")) + repr(found)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"inputFormat":"csv","more":"x"}', "'more' is not a key"),
        ('{"inputFormat":"csv","recordReader":"x"}', "'recordReader' is not a key"),
        ("7", "object of texts"),
        ('{"inputFormat":["csv"]}', "object of texts"),
        ('{"inputFormat":"csv","recordReader.prop.delimiter":"' + "x" * 20_000 + '"}', "at most 20000 are allowed"),
        ('{"inputFormat":"csv","recordReader.prop.delimeter":"x"}', "recordReader.prop.delimeter"),
    ],
)
def test_what_is_wrong_is_named(text: str, says: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_batch_config(text)
    assert says in refused.value.message
