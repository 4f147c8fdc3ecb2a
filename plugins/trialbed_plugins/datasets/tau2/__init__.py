"""Conversations of τ²-bench, whose own code answers the calls and checks the state.

driver    the dataset, and the process that each trial has
bridge    the program of that process, under the Python that has τ²-bench's packages
"""
