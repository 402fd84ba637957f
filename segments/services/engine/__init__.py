"""The port behind which kinds of cluster stand: use cases ask the engine of their context, and never
which kind it is.
"""

from __future__ import annotations

from segments.services.engine.offers import Offers
from segments.services.engine.port import Engine

__all__ = ["Engine", "Offers"]
