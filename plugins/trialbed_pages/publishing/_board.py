"""The leaderboard of setups in runs with the settings of the first run; others are listed with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trialbed.scoring import JUDGED
from trialbed.views import Table, compact
from trialbed_pages.publishing._figures import TOKENS, interval_text, mean_of
from trialbed_pages.publishing._lead import names_of
from trialbed_pages.publishing._numbers import RunNumbers

SEEDS = "seed"
"""The one setting that may differ: it says which noise, and nothing of the subject."""

USUAL = "the usual one"

TITLE = "Leaderboard"


def why_apart(one: RunNumbers, other: RunNumbers) -> str:
    """Return why the figures of two runs do not stand on one board; empty if they do."""
    mine, its = _facts(one), _facts(other)
    name = next((name for name in dict.fromkeys([*mine, *its]) if mine.get(name) != its.get(name)), "")
    if not name or name in ("tasks", "injected faults"):
        return f"its {name} are not the same" if name else ""
    return f"its {name} is {its.get(name, USUAL)}, not {mine.get(name, USUAL)}"


def _facts(run: RunNumbers) -> dict[str, object]:
    """Return the facts that all runs on one board share."""
    settings = {name.replace("_", " "): value for name, value in run.settings.items() if name != SEEDS}
    named = {"injected faults" if name == "faults" else name: settings[name] for name in sorted(settings)}
    tasks = {"dataset": f"{run.dataset} {run.dataset_digest[:12]}", "tasks": {query.query for query in run.queries}}
    return {**tasks, "judge": run.judge, **named}


def board_tables(runs: Sequence[RunNumbers]) -> Iterator[Table]:
    """Yield the leaderboard of several runs, with the reasons why some are not on it; a page of one run says more."""
    if len(runs) < 2:
        return
    apart = {run.name: why for run in runs if (why := why_apart(runs[0], run))}
    names = zip(runs, names_of(runs), strict=True)
    notes = [
        f"The {TITLE.lower()} has not the run of {name}: {apart[run.name]}." for run, name in names if run.name in apart
    ]
    yield _board([run for run in runs if run.name not in apart], notes)


def _board(runs: Sequence[RunNumbers], apart: Sequence[str]) -> Table:
    rows = [
        (mean_of(one, JUDGED), (one.label, *_run(run, runs), *_cells(run, place)))
        for run in runs
        for place, one in enumerate(run.frameworks)
    ]
    rows.sort(key=lambda row: 1.0 if row[0].value is None else -row[0].value)
    notes = [
        "In the order of the means. Whether two of one run differ is said below; of two runs, bench compare says it.",
        *apart,
    ]
    columns = ("", *("model", "run")[: len(_run(runs[0], runs))], "solved", "tokens a trial")
    return Table.of(TITLE, columns, [cells for _, cells in rows], notes)


def _run(run: RunNumbers, runs: Sequence[RunNumbers]) -> tuple[str, ...]:
    """Return the model of a run, with the run's id if several runs have the same model."""
    return (run.model,) if len({one.model for one in runs}) == len(runs) else (run.model, run.name)


def _cells(run: RunNumbers, place: int) -> tuple[str, str]:
    one = run.frameworks[place]
    return interval_text(mean_of(one, JUDGED)), compact(mean_of(one, TOKENS).value)
