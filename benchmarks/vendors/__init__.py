"""Played vendors, with known shares of damaged answers and known bills, for the simulation of the panel's verdicts."""
