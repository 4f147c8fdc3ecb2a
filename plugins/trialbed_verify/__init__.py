"""Vendors of a model: verification, comparison and ranking.

    verification   sends a test set to endpoints and records their answers
    comparison     compares the results of vendors with those of a baseline
    ranking        ranks vendors by Inverse Rank Fusion
    cli            the commands

``comparison`` and ``ranking`` only read files of results; they do not depend on how these were made.
"""
