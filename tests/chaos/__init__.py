"""Random kills under load: rows are neither lost nor doubled."""
