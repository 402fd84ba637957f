"""Stores of input and segments that are not ours, as real parts."""
