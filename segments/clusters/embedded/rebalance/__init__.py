"""Rebalance on the embedded cluster: a record that any process carries on, one conditional write a step."""
