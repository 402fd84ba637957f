"""Pages: who may."""
