"""What primary keys cost: rows taken in, memory, queries."""
