"""What the passes that run again and again need to know, without reading everything again each time."""
