"""What a button does, as a call of the REST API: copied from its page into a script."""
