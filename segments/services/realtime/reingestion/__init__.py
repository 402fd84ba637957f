"""Reingestion as use cases: what is broken, a job's start, its cancel, its end, and what a pass does without a
person."""
