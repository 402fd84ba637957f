"""Use cases: load, decide (domain), write (store), audit. The console, the API, Celery and commands all call the same
ones.
"""
