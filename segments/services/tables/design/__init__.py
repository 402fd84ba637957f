"""From a file to a table: what is found in files, files that people send, and the creation of the table with its first
push.
"""
