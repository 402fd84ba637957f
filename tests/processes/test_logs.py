"""Log lines: whole, bounded, and never a reason to stand still."""

from __future__ import annotations

import os
from pathlib import Path

from segments.processes.logs import LineSplitter, LogFile, Terminal


def test_a_log_file_is_bounded_and_keeps_one_older_file(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "web.log", limit=100)
    for number in range(20):
        log.line(f"line number {number:02}")
    log.close()
    kept = (tmp_path / "web.log.1").read_text() + (tmp_path / "web.log").read_text()
    assert (tmp_path / "web.log").stat().st_size <= 100
    assert (tmp_path / "web.log.1").stat().st_size <= 100
    assert kept.endswith("line number 18\nline number 19\n")
    assert len(list(tmp_path.iterdir())) == 2


def test_lines_are_put_together_from_pieces_and_endless_ones_are_cut() -> None:
    splitter = LineSplitter(limit=10)
    assert splitter.feed(b"one\ntw") == ["one"]
    assert splitter.feed(b"o\r\n\xff") == ["two"]
    assert splitter.finish() == ["�"]
    assert splitter.feed(b"10 %\r50 %\r100 %\r\n") == ["100 %"]
    assert splitter.feed(b"x" * 11) == ["x" * 11]
    assert splitter.finish() == []


def test_a_terminal_that_nobody_reads_does_not_block() -> None:
    reader, writer = os.pipe()
    try:
        terminal = Terminal(writer, colour=False, capacity=50)
        for number in range(5_000):
            terminal.line("web", f"{number} " + "x" * 200)
        assert os.read(reader, 13).startswith(b"web        |")
        terminal.close(0.05)
    finally:
        os.close(reader)
