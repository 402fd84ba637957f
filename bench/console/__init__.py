"""Times of the console's pages over a large installation: `python -m bench.console`."""
