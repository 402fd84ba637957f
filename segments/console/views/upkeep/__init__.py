"""Pages: findings, passes, alerts."""
