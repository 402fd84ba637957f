"""The tour on the start page: which of its steps a person has done."""
