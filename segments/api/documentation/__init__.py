"""What the OpenAPI document says of each operation beyond its view: summary, typed answers, examples."""
