"""No text of a request costs more than its length."""
