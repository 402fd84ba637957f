"""Tables and schemas: what a person changes is checked whole before any of it is written."""
