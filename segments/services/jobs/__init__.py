"""What jobs and workers share: the queue, the lock among processes, and an end to every task."""
