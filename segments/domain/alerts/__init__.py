"""What is told to whom: which events a receiver wants, how they are signed, and when they are sent again. Only values and decisions."""
