"""Consumption on the embedded cluster: flags, segments and jobs are written to ZooKeeper, servers follow them."""
