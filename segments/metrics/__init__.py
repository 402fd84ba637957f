"""What the code counts and times: declared once, by capability, and recorded by one call.

``from segments.metrics import realtime as metrics`` and ``metrics.SEGMENT_BUILD_FAILURES.add(table)``. Nobody else
knows prometheus_client but what shows the values. ``docs/metrics.md`` lists every name.
"""
