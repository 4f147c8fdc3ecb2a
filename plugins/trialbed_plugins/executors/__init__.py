"""Executors, which run trials."""
