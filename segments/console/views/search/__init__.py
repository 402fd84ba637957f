"""One search over everything that has a page."""
