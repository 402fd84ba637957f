"""Bringing back what a replacement removed: every return of such segments is one acknowledged switch, never rows
next to rows.
"""
