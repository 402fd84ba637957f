"""Schedules of tables: rows of beat, starts, stops."""
