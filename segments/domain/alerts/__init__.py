"""Alerts: which events a receiver subscribes to, how they are signed, and when they are sent again. Only values and
decisions.
"""
