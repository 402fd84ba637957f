"""Parts that fail while others are built: which file is at fault, and that the others go on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments.domain.push.parts_by_size import parts_by_size
from segments.domain.push.push_plan import InputFile, Part, Piece, parts_by_file
from segments.domain.push.push_report import report_from_json
from segments.domain.push.reader_spec import ReaderSpec
from segments.domain.segments.segment_names import make_rule
from segments.spark import session
from segments.spark.build_part import BuildJob, Built, Failed, read_answers, try_build_part
from segments.spark.build_segments import SparkBuilder

_SCHEMA = {
    "schemaName": "t",
    "dimensionFieldSpecs": [{"name": "city", "dataType": "STRING"}, {"name": "n", "dataType": "INT"}],
}


def job_for(folder: Path, **more: Any) -> BuildJob:
    rule = make_rule(None, "t_OFFLINE", {}, start_ms=None, is_append=True, frequency=None, has_time=False)
    return BuildJob(
        push_id="p",
        deep_store_url=f"file://{folder}/store",
        schema=_SCHEMA,
        config={"tableName": "t", "tableType": "OFFLINE", "segmentsConfig": {}},
        reader=ReaderSpec("csv").to_json(),
        names=rule.to_json(),
        creation_ms=1_700_000_000_000,
        **more,
    )


def csv_file(folder: Path, name: str, *rows: str) -> InputFile:
    path = folder / name
    path.write_text("\n".join(["city,n", *rows]) + "\n")
    stat = path.stat()
    return InputFile(str(path), stat.st_size, stat.st_mtime_ns)


def packed(*files: InputFile) -> Part:
    return Part(0, 0, tuple(Piece(f) for f in files))


def outcome(job: BuildJob, part: Part) -> Built | Failed:
    built, failed = read_answers([try_build_part(job, part.to_json())])
    return (built + failed)[0]


def test_a_bad_file_of_a_packed_part_is_named_with_its_line(tmp_path: Path) -> None:
    good, bad = csv_file(tmp_path, "a.csv", "Rom,1", "Bari,2"), csv_file(tmp_path, "b.csv", "Oslo,3", "Oslo,x")
    found = outcome(job_for(tmp_path, file_error_rate=0.0), packed(good, bad, csv_file(tmp_path, "c.csv", "Rom,4")))
    assert isinstance(found, Failed)
    assert (found.file, found.line, found.is_changed) == (bad.path, 3, False)
    assert f"'{bad.path}': 1 of 2 rows do not fit; none may be bad. First: Input file" in found.error
    assert report_from_json(found.report).bad_rows == 1


def test_bad_rows_up_to_the_limit_of_their_file_are_left_out_and_listed(tmp_path: Path) -> None:
    files = csv_file(tmp_path, "a.csv", "Rom,1", "Bari,2"), csv_file(tmp_path, "b.csv", "Oslo,3", "Oslo,x", "Oslo,y,z")
    found = outcome(job_for(tmp_path, file_error_rate=0.7), packed(*files))
    assert isinstance(found, Built)
    assert found.rows == 3
    report = report_from_json(found.report)
    assert sorted((b.file, b.line) for b in report.bad) == [(files[1].path, 3), (files[1].path, 4)]
    over = outcome(job_for(tmp_path, file_error_rate=0.6), packed(*files))
    assert isinstance(over, Failed)
    assert over.file == files[1].path


def test_an_empty_file_of_a_packed_part_takes_no_blame(tmp_path: Path) -> None:
    bad = csv_file(tmp_path, "b.csv", "Oslo,x")
    files = csv_file(tmp_path, "a.csv"), bad, csv_file(tmp_path, "c.csv")
    found = outcome(job_for(tmp_path, file_error_rate=0.0), packed(*files))
    assert isinstance(found, Failed)
    assert found.file == bad.path


@pytest.mark.parametrize("gone", [True, False])
def test_a_file_that_changed_since_it_was_listed_is_reported_as_such(tmp_path: Path, gone: bool) -> None:
    files = csv_file(tmp_path, "a.csv", "Rom,1"), csv_file(tmp_path, "b.csv", "Rom,1")
    if gone:
        os.unlink(files[1].path)
    else:
        csv_file(tmp_path, "b.csv", "Rom,1", "Rom,2")
    found = outcome(job_for(tmp_path), packed(*files))
    assert isinstance(found, Failed)
    assert (found.file, found.is_changed) == (files[1].path, True)


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkBuilder]:
    yield SparkBuilder("local[2]")
    session.forget()


@pytest.mark.integration
def test_spark_builds_the_other_parts_and_reports_each_part_once(tmp_path: Path, spark: SparkBuilder) -> None:
    files = [csv_file(tmp_path, f"{i}.csv", f"Rom,{'x' if i in (1, 3) else i}") for i in range(5)]
    files.append(InputFile(str(tmp_path / "gone.csv"), 5, 5))
    built, failed = list[int](), list[tuple[int, str]]()
    spark.build(
        job_for(tmp_path, file_error_rate=0.0),
        parts_by_file(files),
        lambda found: built.extend(b.ordinal for b in found),
        lambda found: failed.extend((f.ordinal, f.file) for f in found),
    )
    assert sorted(built) == [0, 2, 4]
    assert sorted(failed) == [(i, files[i].path) for i in (1, 3, 5)]
    staged = {p.name for p in (tmp_path / "store").rglob("*.json")}
    assert staged == {f"part-{i:05d}.json" for i in (0, 2, 4)}


@pytest.mark.integration
def test_a_caller_that_raises_at_the_first_failure_ends_the_job(tmp_path: Path, spark: SparkBuilder) -> None:
    files = [csv_file(tmp_path, "a.csv", "Rom,x")]

    def stop(failed: list[Failed]) -> None:
        raise failed[0].refusal()

    with pytest.raises(Exception, match=r"a\.csv'.* does not fit"):
        spark.build(job_for(tmp_path, file_error_rate=0.0), parts_by_file(files), lambda built: None, stop)


@pytest.mark.integration
def test_spark_finds_the_cuts_of_large_files_and_builds_their_pieces(tmp_path: Path, spark: SparkBuilder) -> None:
    quoted = csv_file(tmp_path, "a.csv", *(f'"two\nlines, {i}",{i}' for i in range(2000)))
    stray = csv_file(tmp_path, "b.csv", *(f'{i}" wide,{i}' for i in range(2000)))
    small, damaged = csv_file(tmp_path, "c.csv", "Rom,1"), csv_file(tmp_path, "d.csv", "Rom,1")
    Path(damaged.path).write_bytes(b"\x1f\x8b nothing")
    files, ticks = [quoted, stray, small, damaged], list[int]()
    reader = ReaderSpec("csv").to_json()
    cuts = spark.find_cuts([quoted, stray, damaged], reader, 10_000, lambda: ticks.append(1))
    assert ticks
    assert sorted(cuts) == [quoted.path, stray.path]
    parts = parts_by_size(files, "csv", 10_000, cuts=cuts)
    rows, failed = list[int](), list[str]()
    spark.build(
        job_for(tmp_path, file_error_rate=0.0),
        parts,
        lambda found: rows.extend(b.rows for b in found),
        lambda found: failed.extend(f.file for f in found),
    )
    assert len(parts) > 6
    assert sum(rows) == 4000
    assert failed == [damaged.path]


@pytest.mark.integration
def test_a_python_worker_that_dies_repeats_only_its_own_part(tmp_path: Path, spark: SparkBuilder) -> None:
    def work(item: int) -> dict[str, int]:
        calls = tmp_path / str(item)
        is_first = not calls.exists()
        with calls.open("a") as file:
            file.write("x")
        if item == 1 and is_first:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"item": item}

    answers: list[dict[str, int]] = []
    spark._run(list(range(6)), work, lambda found: answers.extend(a for a in found if a not in answers))
    assert sorted(a["item"] for a in answers) == list(range(6))
    assert [len((tmp_path / str(i)).read_text()) for i in range(6)] == [1, 2, 1, 1, 1, 1]
