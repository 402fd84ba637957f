"""What jobs and workers share: one holder at a time, no pass of a table beside itself, an end to every task."""
