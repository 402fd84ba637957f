"""Parts that are processes of their own: how they are kept, and how they end."""
