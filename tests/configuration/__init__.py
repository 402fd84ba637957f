"""What operators set: where values come from, what is refused, and what `pinotadmin config` says."""
