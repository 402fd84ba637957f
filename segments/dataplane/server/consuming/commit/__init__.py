"""The end of a consuming segment: built, uploaded, committed within the lease."""
