"""Conversations of τ²-bench. Its own code answers the calls and checks the state.

driver    the dataset, and a process for each trial
bridge    the program in that process, for the Python with τ²-bench's packages
"""
