"""Reingestion on a server: segments that nobody holds are read from the stream again, built and handed over."""

from segments.dataplane.server.reingestion.reingestions import Reingestions

__all__ = ["Reingestions"]
