"""Running queries over REST."""
