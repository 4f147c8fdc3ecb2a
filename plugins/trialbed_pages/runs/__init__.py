"""The pages of runs: each module reads the store into the record of one page."""

from trialbed_pages.runs.answers import ANSWERS, AnswersPage, answers_page
from trialbed_pages.runs.figure_cache import FigureCache
from trialbed_pages.runs.figures import RunFigures
from trialbed_pages.runs.grid import GRID_FILTERS, GRID_ORDERS, GridFilter, GridPage, grade_of, grid_page
from trialbed_pages.runs.listing import ListingPage, RunFilter, listing_page
from trialbed_pages.runs.pair import PairPage, are_same
from trialbed_pages.runs.run import Differences, RunPage, differences, run_page
from trialbed_pages.runs.trial import TrialPage

__all__ = [
    "ANSWERS",
    "GRID_FILTERS",
    "GRID_ORDERS",
    "AnswersPage",
    "Differences",
    "FigureCache",
    "GridFilter",
    "GridPage",
    "ListingPage",
    "PairPage",
    "RunFigures",
    "RunFilter",
    "RunPage",
    "TrialPage",
    "answers_page",
    "are_same",
    "differences",
    "grade_of",
    "grid_page",
    "listing_page",
    "run_page",
]
