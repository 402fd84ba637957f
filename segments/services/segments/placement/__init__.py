"""Where segments of a table may go: servers are chosen by their tags, whether they are enabled and whether they are
alive.
"""
