"""How Django writes dates, by language: what the admin shows."""
