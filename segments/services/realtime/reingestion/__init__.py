"""Reingestion as use cases: what is broken, a job's start, its cancel, its end, and what a pass does without a person.

What is the same for every cluster stands here: the refusal with its reason where a cluster's servers are not ours, the
preview, the audit record. What reads segments again and registers them is behind the port: ``engine.consumption`` and
``engine.commits``.
"""
