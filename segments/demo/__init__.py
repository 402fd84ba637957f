"""The demo's data: flights that left New York in 2013."""
