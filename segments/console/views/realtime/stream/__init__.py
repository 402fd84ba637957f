"""The stream of a realtime table: what waits in it, over a day and now, and its messages."""
