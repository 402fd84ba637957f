"""Stream messages that gave no row, kept per table: every change of them by a person is for a reason and on record.

Pages and paths ask here for every cluster; ``engine.consumption.require_set_aside`` refuses, with the reason, where a
cluster's servers keep no such messages for us.
"""
