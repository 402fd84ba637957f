"""What is open to one Pinot cluster: controller, broker, ZooKeeper; made from its row, and checked."""
