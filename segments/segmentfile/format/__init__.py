"""The bytes of Pinot's segment files, read and written."""
