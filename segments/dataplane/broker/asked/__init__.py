"""What a query asks, read before any table is. Nothing here asks a server."""
