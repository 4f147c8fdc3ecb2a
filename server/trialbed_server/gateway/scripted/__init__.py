"""Scripted models: they play a known policy over a query's gold calls."""
