"""Who asks and what they may do: every door asks here, nothing is allowed unless something says so."""
