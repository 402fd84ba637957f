"""What a commit writes: its start (the end is fixed, the next segment consumes), and its end (facts of the file)."""
