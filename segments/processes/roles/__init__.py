"""One part of a cluster on a host of its own: how each is started, by `up` and by `pinotadmin run`."""
