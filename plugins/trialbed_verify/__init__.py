"""Verify, compare and rank the vendors of a model.

    verification   sends a test set to endpoints and records their answers
    suites         test sets that come with Trialbed, with the expectations of each case
    findings       faults of an answer, by the specification, its request or plausibility
    table          result rows of any tool as one table, and the cases that two tables share
    summary        the summary of one table
    compare        compares the tables of a vendor and a baseline
    panel          the gates of the verdict on a vendor
    ranking        ranks vendors by Inverse Rank Fusion
    tables, pages  tables of text, and the parts of web pages
    cli            the commands; ``comparer`` adds vendors to ``bench compare``

Only ``verification`` sends requests. All other modules read result files, from any tool.
"""
