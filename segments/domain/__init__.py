"""Pure values and decisions: no Django, no kazoo, no clock, no random, no IO."""
