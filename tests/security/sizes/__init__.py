"""How much one request or many may send, ask for or leave behind."""
