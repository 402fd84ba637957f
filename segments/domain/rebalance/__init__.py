"""Moving a table's segments between servers: where they should be, in which order they go, what may not be risked. A
rebalance is a value, and each step of it a pure function of it and of what was read.
"""
