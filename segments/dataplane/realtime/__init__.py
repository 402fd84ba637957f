"""Rows on their way from a stream into a segment: decoders, and the columnar buffer that queries read
while it grows.
"""
