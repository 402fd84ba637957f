"""What people choose for the console, each for themselves: kept with the person, in every browser."""
