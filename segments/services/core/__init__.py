"""What every use case works with: the context it gets, the audit record it leaves, nothing of one capability."""
