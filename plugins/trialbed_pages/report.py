"""A run as one file with everything inside, to mail or to publish."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trialbed.drivers import load_driver
from trialbed.records import Query
from trialbed.report import decision, instructive_trials, run_title
from trialbed.settings import data_dir as default_folder
from trialbed.store import StoredRun
from trialbed.views import html_page
from trialbed_pages.rendering import render
from trialbed_pages.runs import GridFilter, GridPage, RunCache, TrialPage, run_page


def run_report(run: StoredRun, data_dir: Path | None = None, queries: Mapping[int | str, Query] | None = None) -> str:
    """Return the page of a run for a decision maker, in one file without scripts and external resources.

    It has the conclusion, what to take, the table and three examples; the appendix has all figures and these trials.

    Args:
        data_dir: the folder of datasets; None for the user's.
        queries: the run's tasks; None to read them from its dataset.
    """
    if run.record.kind == "endpoints":
        return html_page(run_title(run.record), load_driver("components", "verification").page_parts(run))
    cache = RunCache(data_dir or default_folder(), {} if queries is None else {run.run_id: queries})
    figures = cache.of(run)
    tasks = cache.queries(run)
    page = run_page(figures)
    details = []
    for row in instructive_trials(figures.report):
        key = row.key
        trial = run.trial(key.framework, key.query_id, key.repeat)
        details.append(TrialPage(run, trial, tasks.get(key.query_id) if tasks else None))
    grid = GridPage(figures, GridFilter())
    more = {"page": page, "grid": grid, "details": details, "decision": decision(figures.report)}
    return render("report.html", "", run=run, figures=figures, **more)
