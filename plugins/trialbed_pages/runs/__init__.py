"""The values that the pages of runs show: each module reads the store into the values of one template."""

from trialbed_pages.runs.figures import FigureCache, RunFigures
from trialbed_pages.runs.grid import GRID_SORTS, GridFilter, grid_page
from trialbed_pages.runs.listing import RunFilter, listing_page
from trialbed_pages.runs.pair import pair_page
from trialbed_pages.runs.run import differences, run_page
from trialbed_pages.runs.trial import trial_page

__all__ = [
    "GRID_SORTS",
    "FigureCache",
    "GridFilter",
    "RunFigures",
    "RunFilter",
    "differences",
    "grid_page",
    "listing_page",
    "pair_page",
    "run_page",
    "trial_page",
]
