"""The parts of a cluster go over to another version of this program, one after the other."""
