"""The suites of every kind of cluster, over the real Apache Pinot: one table for each test."""
