"""Table configs and schemas as values: their keys, defaults, refusals and secrets."""
