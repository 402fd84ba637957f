"""The lists of docs/deployment.md: all of it on one address of this machine, and parts on two."""
