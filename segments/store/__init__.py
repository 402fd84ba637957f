"""State in ZooKeeper: typed, versioned, conditional; the same contract in memory. The only package that
imports kazoo.
"""
