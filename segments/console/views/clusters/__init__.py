"""Pages: clusters, servers, minion tasks."""
