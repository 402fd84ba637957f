"""Stream messages that gave no row: from the server that meets them to the table that keeps them, and what people do
with them.
"""
