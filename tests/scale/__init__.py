"""An installation on parts of one's own (PostgreSQL, three ZooKeepers, S3), each of which dies under load."""
