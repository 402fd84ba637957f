"""The client package: its generator, its calls against a cluster in memory, its commands."""
