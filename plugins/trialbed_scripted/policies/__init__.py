"""Scripted models: they follow a known policy over a query's gold calls."""
