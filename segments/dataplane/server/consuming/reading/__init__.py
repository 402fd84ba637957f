"""Reading the stream for one segment: with patience, and with a note of what was lost before it could be read."""
