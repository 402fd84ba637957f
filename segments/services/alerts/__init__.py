"""Each finding is sent once when it opens and once when it closes, by webhook and mail, and no receiver slows anything
else.
"""
