"""Frameworks that need no adapter package of their own."""
