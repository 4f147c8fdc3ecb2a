"""Vendors of a model: verification, comparison and ranking.

    verification   sends a test set to endpoints and records their answers
    suites         test sets that come with Trialbed, with the expectations of each case
    findings       faults of an answer, by the specification, its request or plausibility
    comparison     compares the results of vendors with those of a baseline
    panel          the gates of the verdict on a vendor
    ranking        ranks vendors by Inverse Rank Fusion
    views, pages   tables, and the parts of web pages
    documents      records as the JSON objects that users read
    cli            the commands; ``comparer`` adds vendors to ``bench compare``

All but ``verification`` only read files of results; they do not depend on how these were made.
"""
