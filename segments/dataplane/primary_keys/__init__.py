"""Which row of each primary key counts on this server: keys in memory, masks of segments, batches made unique.

One rule: what is visible is a function of the rows that are here, never of the order in which they came.
"""
