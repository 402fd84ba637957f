"""The deep store: segment files under one root, and no call into it is waited for without an end."""
