"""Columns that are nested very deeply are refused before they are read: reading them would overflow the stack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from segments.errors import InvalidInput
from segments.gateways.input_files.source import ANYWHERE
from segments.spark.reading.columnar import Columnar

WRITE: dict[str, Any] = {"orc": orc.write_table, "parquet": pq.write_table}


def nested(folder: Path, kind: str, depth: int) -> str:
    inner: Any = pa.int32()
    for _ in range(depth):
        inner = pa.struct([("a", inner)])
    WRITE[kind](pa.table({"x": pa.nulls(1, inner)}), str(folder / "f"))
    return str(folder / "f")


@pytest.mark.parametrize("kind", WRITE)
def test_what_is_nested_deeper_than_anybody_nests_is_refused(tmp_path: Path, kind: str) -> None:
    assert Columnar(nested(tmp_path, kind, 20), kind, ANYWHERE).first_rows(5, 1 << 25)[0].num_rows == 1
    file = Columnar(nested(tmp_path, kind, 200), kind, ANYWHERE)
    for read in (file.count, lambda: file.first_rows(5, 1 << 25)):
        with pytest.raises(InvalidInput, match="nested"):
            read()
