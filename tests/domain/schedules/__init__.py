"""Cron expressions: what they mean, when they fire, what is refused."""
