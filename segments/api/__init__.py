"""The REST edge: Pinot's own paths and JSON at the root, additions under /api/v1/. Parse, call one service, render."""
