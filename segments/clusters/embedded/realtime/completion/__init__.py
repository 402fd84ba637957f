"""The controller's side of the segment completion protocol: load, take one step, write conditionally, answer."""
