"""The segment tool: ``python -m segments.segmentfile`` and ``manage.py segment`` say what is inside and write it
elsewhere.
"""

import csv
import io
import json
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pyarrow.parquet
import pytest
from django.core.management import call_command

from segments.segmentfile import SegmentReader, verify, write_tar
from segments.segmentfile.__main__ import main
from tests.segmentfile.samples import FIXTURES, build, config_of, schema_of


def test_rows_are_printed_as_json_lines(capsys):
    assert main(["rows", str(FIXTURES / "all_0"), "--format", "json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    given = [json.loads(line) for line in (FIXTURES / "all_0.rows.jsonl").read_text().splitlines()]
    assert len(lines) == 4
    assert lines[2] == {"sorted": 3, "day": 19002, "inv": "k1"}  # nulls are left out
    for line, row in zip(lines, given, strict=True):
        changed = {"bd", "js", "imv"}  # stored without trailing zeros, blanks and the empty list
        assert {k: v for k, v in line.items() if k not in changed} == {k: v for k, v in row.items() if k not in changed}


def test_verify_ends_with_status_1_and_a_line_per_fault(tmp_path, capsys):
    segment = tmp_path / "all_0"
    shutil.copytree(FIXTURES / "all_0", segment)
    assert main(["verify", str(segment)]) == 0
    assert "no fault" in capsys.readouterr().out
    columns = segment / "v3" / "columns.psf"
    columns.write_bytes(columns.read_bytes().replace(b"hello", b"hallo"))
    assert main(["verify", str(segment)]) == 1
    assert capsys.readouterr().out.splitlines()[0].startswith("CRC of the files is")


def test_inspect_describes_a_tar_and_a_missing_segment_is_an_error(tmp_path, capsys):
    write_tar(FIXTURES / "tiny_0_v3", tmp_path / "t.tar.gz")
    assert main(["inspect", str(tmp_path / "t.tar.gz"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["c"]["max_value"] == "b"
    assert main(["inspect", str(tmp_path / "t.tar.gz")]) == 0
    assert "segment tiny_0 of table tiny: 3 rows, CRC 2192056775" in capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "none.tar.gz")]) == 1
    assert "none.tar.gz" in capsys.readouterr().err


def test_the_module_runs_as_a_program():
    command = [sys.executable, "-m", "segments.segmentfile", "verify", str(FIXTURES / "tiny_0_v3")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")


def test_rows_as_csv_are_what_pinots_csv_reader_takes(tmp_path, capfdbinary):
    rows = {
        "n": [1, None, 3],
        "tags": [["a", "b"], ["c"], None],
        "ok": [True, False, None],
        "text": ['say "hi", you', "two\nlines", ""],
    }
    schema = schema_of(("n", "LONG"), ("tags", "STRING[]"), ("ok", "BOOLEAN"), ("text", "STRING"))
    build(rows, schema, config_of(nullHandlingEnabled=True), tmp_path)
    assert main(["rows", str(tmp_path / "t_0"), "--format", "csv"]) == 0
    lines = list(csv.reader(io.StringIO(capfdbinary.readouterr().out.decode())))
    assert lines[0] == ["n", "ok", "tags", "text"]
    assert lines[1:] == [["1", "true", "a;b", 'say "hi", you'], ["", "false", "c", "two\nlines"], ["3", "", "", ""]]


def test_rows_as_parquet_have_logical_types_and_nulls(tmp_path):
    out = tmp_path / "rows.parquet"
    assert main(["rows", str(FIXTURES / "all_0"), "--format", "parquet", "--output", str(out)]) == 0
    table = pyarrow.parquet.read_table(out)
    kinds = {f.name: str(f.type) for f in table.schema}
    assert (kinds["bool"], kinds["ts"], kinds["imv"], kinds["by"]) == (
        "bool",
        "timestamp[ms]",
        "list<element: int32>",
        "binary",
    )
    assert table.column("i").to_pylist() == [5, -3, None, 5]
    assert table.column("ts").to_pylist()[0] == datetime(2023, 11, 14, 22, 13, 20)


def test_chosen_columns_and_rows_are_printed(capsys):
    assert main(["rows", str(FIXTURES / "tiny_0_v1"), "--columns", "n,c", "--start", "1", "--limit", "1"]) == 0
    assert capsys.readouterr().out == "n=-1\tc=a,x\n"
    assert main(["rows", str(FIXTURES / "tiny_0_v1"), "--columns", "zz"]) == 1
    assert "no column 'zz'" in capsys.readouterr().err


def test_an_empty_segment_has_no_rows_but_columns(tmp_path, capsys):
    assert main(["rows", str(FIXTURES / "empty_0"), "--format", "csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert (
        main(["rows", str(FIXTURES / "empty_0"), "--format", "parquet", "--output", str(tmp_path / "e.parquet")]) == 0
    )
    assert pyarrow.parquet.read_table(tmp_path / "e.parquet").num_rows == 0


def test_what_cannot_be_is_reported_in_one_line(tmp_path, capsys):
    assert main(["rows", str(FIXTURES / "all_0"), "--format", "parquet"]) == 1
    assert "--output rows.parquet" in capsys.readouterr().err
    assert main(["rows", str(FIXTURES / "all_0"), "--output", str(tmp_path / "no" / "x")]) == 1
    assert "No such file" in capsys.readouterr().err
    assert main(["rows", str(FIXTURES / "all_0"), "--start", "-1"]) == 1


@pytest.mark.parametrize("target", ["out", "out.tar.gz"])
def test_convert_writes_a_sound_v3_segment(tmp_path, capsys, target):
    assert main(["convert", str(FIXTURES / "tiny_0_v1"), "--output", str(tmp_path / target)]) == 0
    assert "3 rows in layout v3, CRC 2192056775" in capsys.readouterr().out
    made = tmp_path / target if target.endswith("gz") else tmp_path / target / "tiny_0"
    assert verify(made) == []


def test_manage_py_has_the_same_tool(tmp_path, capsys):
    call_command("segment", "convert", str(FIXTURES / "tiny_0_v1"), "--output", str(tmp_path))
    assert SegmentReader(tmp_path / "tiny_0").column("c").to_pylist() == ["b", "a,x", "b"]
    with pytest.raises(SystemExit, match="1"):
        call_command("segment", "verify", str(tmp_path / "none"))


def test_manage_py_runs_it_as_a_program():
    command = [sys.executable, "manage.py", "segment", "inspect", str(FIXTURES / "tiny_0_v3"), "--format", "json"]
    root = Path(__file__).parents[2]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)["crc"] == 0x82A821C7
