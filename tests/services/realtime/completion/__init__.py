"""The completion protocol over stored state: commits, their files, their repair."""
