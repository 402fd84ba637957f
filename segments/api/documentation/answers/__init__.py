"""Shapes of answers, for the OpenAPI document and the clients that are generated from it."""
