"""The clusters that this installation drives, their settings and instances: what a person says about one is checked
before anything connects.
"""
