"""Tasks of table configs over REST."""
