"""A segment that one of the same name takes the place of stays as long as a deleted one, and can come back."""
