"""What a push found in its input is kept with it, whatever becomes of the push."""
