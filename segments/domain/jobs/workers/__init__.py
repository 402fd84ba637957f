"""Which worker does which task, for how long at most, and how it is seen that a worker does its work. Only values and
decisions.
"""
