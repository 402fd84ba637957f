"""Values of Pinot's data types in Arrow columns: how they convert, how Java writes them, how times are read."""
