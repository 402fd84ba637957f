"""A real Apache Pinot, driven through its controller: a change is sent once, and when its answer is lost its outcome is
read, not assumed.
"""
