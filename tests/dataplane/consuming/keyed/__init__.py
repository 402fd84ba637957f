"""Tables in which a primary key has one row, while they are consumed."""
