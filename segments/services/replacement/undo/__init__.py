"""Bringing back what a replacement took away: every return of such segments is one acknowledged switch, never rows
beside rows.
"""
