"""Records that Helix and Pinot keep: instances, messages, what a fresh cluster has."""
