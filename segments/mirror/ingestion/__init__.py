"""Copies file ingestion sessions from ZooKeeper and their manifests into the database; only what changed is written."""
