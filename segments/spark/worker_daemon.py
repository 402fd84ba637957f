"""The process from which Spark forks its Python workers: everything they need is imported before, so each starts in
milliseconds.
"""

from __future__ import annotations

import pyspark.worker
from pyspark.daemon import manager

from segments.spark import build_part

__all__ = ["build_part"]

if __name__ == "__main__":
    assert pyspark.worker
    manager()
