"""The pages of runs. Each module reads the store into the record of one page."""

from trialbed_pages.runs.figures import RunCache, RunFigures
from trialbed_pages.runs.grid import ANSWERS, ORDERS, OUTCOMES, GridFilter, GridPage, grade_of
from trialbed_pages.runs.run import listing_page, run_page
from trialbed_pages.runs.trial import TrialPage

__all__ = [
    "ANSWERS",
    "ORDERS",
    "OUTCOMES",
    "GridFilter",
    "GridPage",
    "RunCache",
    "RunFigures",
    "TrialPage",
    "grade_of",
    "listing_page",
    "run_page",
]
