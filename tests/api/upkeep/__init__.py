"""Findings, schedules and webhooks over REST."""
