"""Raw input columns become stored ones, as Pinot's segment creator does."""
