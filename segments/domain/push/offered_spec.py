"""The job specification that the console offers for a table: the one that does with a second push what the table's
config means.
"""

from __future__ import annotations

from typing import Final

from segments.domain.tables.table_config import TableConfig

_SPEC: Final = """\
{comment}executionFrameworkSpec:
  name: spark
jobType: SegmentCreationAndMetadataPush
inputDirURI: {input_dir}
includeFileNamePattern: "glob:**/*.csv"
recordReaderSpec:
  dataFormat: csv
tableSpec:
  tableName: {table}
{names}pushJobSpec:
  pushAttempts: 2
"""
_BY_NAME: Final = """\
segmentNameGeneratorSpec:
  type: simple
  configs:
    exclude.time.in.segment.name: "true"
"""
_APPEND: Final = """\
# This table appends: each push adds its rows to what is there, in segments with names of their own.
# To replace all rows by each push, set segmentIngestionType to REFRESH and consistentDataPush to true
# in the table config.
"""
_CONSISTENT: Final = (
    "# This table is refreshed: each push replaces all of its rows in one switch that can be rolled back.\n"
)
_REFRESH: Final = """\
# This table is refreshed by name: file 1 of a push replaces the segment of file 1 of the push before, and so on.
# A push that replaces segments needs the option overwrite, and segments beyond its number of files stay.
# With consistentDataPush in the table config each push would replace the whole table in one switch instead.
"""


def offered_spec(config: TableConfig | None, table: str, input_dir: str) -> str:
    """YAML for the raw name ``table``. ``config`` None: there is no such table, or it is not known."""
    if config is None:
        return _SPEC.format(comment="", names="", table=table, input_dir=input_dir)
    comment, names = (
        (_CONSISTENT, "") if config.consistent_push else (_REFRESH, _BY_NAME) if config.is_refresh else (_APPEND, "")
    )
    return _SPEC.format(comment=comment, names=names, table=table, input_dir=input_dir)
