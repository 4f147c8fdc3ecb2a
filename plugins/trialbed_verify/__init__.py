"""Vendors of a model: verification, comparison and ranking.

    verification   sends a test set to endpoints and keeps what they answer
    comparison     holds the results of vendors against those of a baseline
    ranking        orders vendors by Inverse Rank Fusion
    cli            their commands

``comparison`` and ``ranking`` read files of results and know nothing of how they were made.
"""
