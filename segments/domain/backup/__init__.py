"""What a backup keeps, and how it changes when it is restored under other names."""
