"""PySpark jobs that build segments. What runs in executors imports no Django and no pyspark."""
