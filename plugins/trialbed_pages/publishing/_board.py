"""The leaderboard: the set-ups of runs whose settings allow it, one below the other; the others with the reason."""

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


def why_apart(one: RunNumbers, other: RunNumbers) -> str:
    """Return why the figures of two runs do not stand on one board; empty if they do."""
    mine, its = _facts(one), _facts(other)
    name = next((name for name in dict.fromkeys([*mine, *its]) if mine.get(name) != its.get(name)), "")
    if not name or name in ("tasks", "injected faults"):
        return f"its {name} are not the same" if name else ""
    return f"its {name} is {its.get(name, USUAL)}, not {mine.get(name, USUAL)}"


def _facts(run: RunNumbers) -> dict[str, object]:
    """Return all that runs on one board have in common."""
    settings = {name.replace("_", " "): value for name, value in run.settings.items() if name != SEEDS}
    named = {"injected faults" if name == "faults" else name: settings[name] for name in sorted(settings)}
    tasks = {"dataset": f"{run.dataset} {run.dataset_digest[:12]}", "tasks": {query.query for query in run.queries}}
    return {**tasks, "judge": run.judge, **named}


def boards(runs: Sequence[RunNumbers]) -> list[list[RunNumbers]]:
    """Return the runs in groups whose figures may stand side by side, in the order of their first runs."""
    found: list[list[RunNumbers]] = []
    for run in runs:
        board = next((group for group in found if not why_apart(group[0], run)), None)
        if board is None:
            found.append([run])
        else:
            board.append(run)
    return found


def board_tables(runs: Sequence[RunNumbers]) -> Iterator[Table]:
    """Yield the leaderboards of several runs; none of one alone, whose page says more."""
    if len(runs) < 2:
        return
    groups = boards(runs)
    names = {run.name: name for run, name in zip(runs, names_of(runs), strict=True)}
    for place, group in enumerate(groups):
        title = "Leaderboard" if place == 0 else f"Leaderboard {place + 1}"
        apart = [
            f"{title} has not the run of {names[other[0].name]}: {why_apart(group[0], other[0])}."
            for other in groups[:place]
        ]
        yield _board(title, group, apart)


def _board(title: str, runs: Sequence[RunNumbers], apart: Sequence[str]) -> Table:
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
    return Table.of(title, columns, [cells for _, cells in rows], notes)


def _run(run: RunNumbers, runs: Sequence[RunNumbers]) -> tuple[str, ...]:
    """Return the model of a run; and the run's id, where several are of one model."""
    return (run.model,) if len({one.model for one in runs}) == len(runs) else (run.model, run.name)


def _cells(run: RunNumbers, place: int) -> tuple[str, str]:
    one = run.frameworks[place]
    return interval_text(mean_of(one, JUDGED)), compact(mean_of(one, TOKENS).value)
