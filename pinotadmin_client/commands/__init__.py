"""The command ``pinotadmin``."""
