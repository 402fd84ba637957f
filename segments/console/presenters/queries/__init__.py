"""What the query page shows: answers, charts, tables and columns at the side."""
