"""Replacements on a real Pinot: decided here, done by Pinot once, shown when its brokers answer from them."""
