"""How large an installation may be."""
