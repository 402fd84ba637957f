"""``batchConfigMapStr`` of Pinot's endpoints that take a single file in: its keys, and the push that they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from segments.domain.formats.bounded_json import parse_json
from segments.domain.formats.config_text import config_text
from segments.domain.ingestion.task_keys import WITHOUT_EFFECT
from segments.domain.push.push_model import RecordReader
from segments.domain.push.reader_spec import parse_reader
from segments.errors import InvalidInput
from segments.names import TableName, shown

PARAMETER: Final = "batchConfigMapStr"
_READER: Final = "recordReader.prop."
_NAMES: Final = "segmentNameGenerator.configs."
_POSTFIX: Final = "segment.name.postfix"
_OWN: Final = ("inputFormat", "recordReader.className", "segmentNameGenerator.type", "input.fs.className")
_PREFIXES: Final = (_READER, _NAMES, "input.fs.prop.")
#: Pinot overwrites these, or they say how its own jobs send a segment.
_IGNORED: Final = frozenset((*WITHOUT_EFFECT, "inputDirURI")) - frozenset(_OWN)
_MOST_CHARS: Final = 20_000


@dataclass(frozen=True)
class BatchConfig:
    """How one file is read and its segment named. ``file_system``: the ``input.fs.*`` keys, secrets among them."""

    data_format: str
    reader_class: str | None
    reader: Mapping[str, str]
    name_type: str | None
    names: Mapping[str, str]
    file_system: Mapping[str, str] = field(repr=False)

    def job(self, table: TableName, folder: str, postfix: str) -> dict[str, Any]:
        """The job specification of the push that reads ``folder``. ``postfix`` ends the segment's name unless one is
        given, so that a second file adds to the first one.
        """
        generator = {"type": self.name_type, "configs": {_POSTFIX: postfix, **self.names}}
        reader = {"dataFormat": self.data_format, "className": self.reader_class, "configs": dict(self.reader)}
        return {
            "jobType": "SegmentCreationAndMetadataPush",
            "inputDirURI": folder,
            "tableSpec": {"tableName": table.raw},
            "recordReaderSpec": reader,
            "segmentNameGeneratorSpec": generator,
        }


def parse_batch_config(text: str) -> BatchConfig:
    """From the parameter's JSON text. Raises InvalidInput naming the key."""
    given = _texts(text)
    for key in given:
        if key not in _OWN and key not in _IGNORED and not key.startswith(_PREFIXES):
            raise InvalidInput(
                f"'{shown(key)}' is not a key of {PARAMETER} that is known here.",
                remedy=f"Known are {', '.join(_OWN)}, and those that begin with {', '.join(_PREFIXES)}.",
                field=key,
            )
    found = BatchConfig(
        given.get("inputFormat", "").strip().lower(),
        given.get("recordReader.className"),
        _below(_READER, given),
        given.get("segmentNameGenerator.type"),
        _below(_NAMES, given),
        {key: value for key, value in given.items() if key.startswith("input.fs.")},
    )
    _check_reader(found)
    return found


def _texts(text: str) -> dict[str, str]:
    if len(text) > _MOST_CHARS:
        raise InvalidInput(f"{PARAMETER} has {len(text)} characters; at most {_MOST_CHARS} are allowed.")
    body = parse_json(text, what=PARAMETER)
    if not isinstance(body, dict) or any(isinstance(value, dict | list) for value in body.values()):
        raise InvalidInput(
            f"{PARAMETER} must be a JSON object of texts.", remedy='For example {"inputFormat":"csv"}.', field=PARAMETER
        )
    return {key: config_text(value) for key, value in body.items() if value is not None}


def _below(prefix: str, given: Mapping[str, str]) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}


def _check_reader(found: BatchConfig) -> None:
    """Raises InvalidInput under the keys of this parameter."""
    try:
        parse_reader(RecordReader(found.data_format or None, found.reader_class, configs=dict(found.reader) or None))
    except InvalidInput as error:
        message = error.message.replace("recordReaderSpec.configs.", _READER)
        message = message.replace("recordReaderSpec.dataFormat", "inputFormat")
        raise InvalidInput(message, remedy=error.remedy, field=PARAMETER) from error
