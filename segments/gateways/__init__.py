"""IO other than ZooKeeper, each behind a small protocol: deep store, servers over HTTP."""
