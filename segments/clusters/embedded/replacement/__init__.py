"""Replacements on the embedded cluster: one transaction, acknowledged by brokers, deletion last."""
