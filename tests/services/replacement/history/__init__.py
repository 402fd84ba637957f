"""The history of snapshots: what made each, and going back to any of them."""
