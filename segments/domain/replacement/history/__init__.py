"""The history of a table's snapshots, as pure values: what each consists of, what made it, and which way leads back to
it.
"""
