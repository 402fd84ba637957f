"""Messages of a stream for people: some at a time, within bounds of number, bytes and seconds."""
