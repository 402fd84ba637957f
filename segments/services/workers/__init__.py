"""What holds for all workers: a pass never overlaps itself, and a task that takes too long gives its slot up."""
