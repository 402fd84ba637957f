"""What benches count and print."""
