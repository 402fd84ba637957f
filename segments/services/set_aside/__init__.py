"""Stream messages that gave no row, kept per table: every change of them by a person is for a reason and on record."""
