"""What the children find on this machine: Java, Redis, ports, passwords, private files."""
