"""Files of a session: read, their rows that do not fit listed, and what is staged too late removed."""
