"""Consumption of realtime tables: what is paused, repaired or committed is decided from records, never from memory."""
