"""Tasks of table configs: checked when a config is saved, and started on their schedules."""
