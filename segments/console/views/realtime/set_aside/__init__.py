"""Pages of a table's stream messages that gave no row. Nothing of a payload is shown to who may not query and operate
the table.
"""
