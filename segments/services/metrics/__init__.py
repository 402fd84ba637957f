"""What /metrics of a web process shows in addition to what was recorded.

It is computed from rows of the database, so the same in every process, with a bounded number of queries and none that
reads every segment.
"""
