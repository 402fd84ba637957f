"""What passes decide: what is old enough to go, and what is wrong with a table."""
