"""What the pages of a stream show: lines over time, what waits in each partition, messages."""
