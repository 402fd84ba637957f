"""What comes back, and how fast, after something was lost."""
