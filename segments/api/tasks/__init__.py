"""/tasks: tasks of table configs, their runs and schedules."""
