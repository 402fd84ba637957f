"""What is counted and shown on /metrics, its document, its dashboard and its rules."""
