"""The embedded cluster's processes: finds, starts, watches, restarts and stops them. No Django in here."""
