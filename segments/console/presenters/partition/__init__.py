"""The page of one partition: what was so over time as lines, the lives of its last segments as bars."""
