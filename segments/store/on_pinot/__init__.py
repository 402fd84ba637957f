"""The stores that read a real Pinot's znodes: over its ZooKeeper or its controller, never written to."""
