"""The embedded data plane: servers that hold segments, the broker that routes and merges, and the query
engine of both.
"""
