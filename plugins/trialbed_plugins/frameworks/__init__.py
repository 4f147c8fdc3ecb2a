"""Frameworks that need no adapter package."""
