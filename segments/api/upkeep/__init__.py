"""REST: health, figures, alerts."""
