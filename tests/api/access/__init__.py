"""REST: who may."""
