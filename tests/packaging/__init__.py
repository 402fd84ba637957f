"""What is installed of this repository."""
