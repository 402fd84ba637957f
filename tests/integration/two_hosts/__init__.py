"""Parts of a cluster as processes of their own, on two addresses of this machine."""
