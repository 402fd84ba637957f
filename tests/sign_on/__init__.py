"""Signing in with an identity provider."""
