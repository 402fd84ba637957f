"""Pushes: each stage sees what is already done and does the rest, whoever carries it on."""
