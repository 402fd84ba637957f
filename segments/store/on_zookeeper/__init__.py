"""The store on a real ZooKeeper: logins, watches, replies."""
