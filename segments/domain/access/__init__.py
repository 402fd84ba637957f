"""Who may do what, and what a request or an address may be."""
