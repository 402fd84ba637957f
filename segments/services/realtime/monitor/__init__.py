"""Once a minute, of every partition: lag, rows per second, what waits in the stream and when it goes."""
