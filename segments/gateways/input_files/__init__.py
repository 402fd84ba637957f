"""Input files of pushes and ingestion sessions, wherever they live: listed, described and read, each call bounded in
time.
"""
