"""File ingestion sessions as pure values and decisions: what a table's task asks for, what a session is, what is done
next with each file.
"""
