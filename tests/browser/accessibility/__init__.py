"""What axe finds on pages."""
