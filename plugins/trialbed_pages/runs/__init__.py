"""The pages of runs. Each module reads the store into the record of one page."""

from trialbed_pages.runs.answers import ANSWERS, answers_page
from trialbed_pages.runs.figures import RunCache, RunFigures
from trialbed_pages.runs.grid import GRID_FILTERS, GRID_ORDERS, GridFilter, GridPage, grade_of
from trialbed_pages.runs.listing import RunFilter, listing_page
from trialbed_pages.runs.run import run_page
from trialbed_pages.runs.trial import TrialPage

__all__ = [
    "ANSWERS",
    "GRID_FILTERS",
    "GRID_ORDERS",
    "GridFilter",
    "GridPage",
    "RunCache",
    "RunFigures",
    "RunFilter",
    "TrialPage",
    "answers_page",
    "grade_of",
    "listing_page",
    "run_page",
]
