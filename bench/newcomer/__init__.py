"""What a newcomer needs for the everyday tasks: clicks, fields and seconds, counted in a browser."""
