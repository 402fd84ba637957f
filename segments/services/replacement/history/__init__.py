"""The history of a table's snapshots: reading it, who made each, queries as of one, and going back to one."""
