"""What builds segments from files, as pushes and sessions of file ingestion need it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from segments.domain.push.push_plan import InputFile, Part, Piece
from segments.spark.build_part import BuildJob, Built, Failed


class Builder(Protocol):
    """Builds parts somewhere; see ``segments.spark.build_segments.SparkBuilder``."""

    def build(
        self,
        job: BuildJob,
        parts: Sequence[Part],
        on_built: Callable[[list[Built]], None],
        on_failed: Callable[[list[Failed]], None],
    ) -> None:
        """Stage all parts that can be, reporting each part."""

    def find_cuts(
        self,
        files: Sequence[InputFile],
        reader: dict[str, Any],
        target: int,
        on_tick: Callable[[], None],
        access: dict[str, Any] | None = None,
    ) -> dict[str, list[Piece]]:
        """Where files may be cut, by path."""

    def ui_address(self) -> str:
        """Where people watch what is being built; empty: nowhere."""
