"""Two checkouts measured by turns, because the same machine is not always equally fast."""
