"""Releases: one framework's behaviour over its releases, and the changes between neighbours.

The kit runs on each release in its own environment.
"""
