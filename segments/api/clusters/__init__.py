"""REST: clusters, instances, brokers and tasks."""
