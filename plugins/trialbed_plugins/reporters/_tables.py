"""The tables of a run, in which each set-up is a row; its plots and its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trialbed.records import shown_name
from trialbed.report import Report, ScoreSummary, Summary, verdict
from trialbed.scoring import JUDGED
from trialbed.texts import number_of, percent
from trialbed.views import UNKNOWN, Table, TableRow, compact, counts
from trialbed_plugins.reporters._notes import brief_notes, mean_text, run_legend, run_notes
from trialbed_plugins.reporters._setups import SKEWED, ShownSetup, comparable, score_names, telling_names

if TYPE_CHECKING:
    from trialbed.views import IntervalPlot, PlotPoint

TOKENS, TIME, COST = "total_tokens", "wall_time", "cost"
"""The scores of the first table, besides the leading one."""

MEDIANS = ("tokens", "time", "cost")
"""Columns of the first table that are medians of a trial."""

LEFT_OUT = ("time", "tokens", "calls right")
"""Columns that a screen without room for all of them does without, the first of these first."""

Cell = Callable[[ShownSetup], str]


def screen_table(report: Report) -> Table:
    """The table of a screen, a row for each setup: success, right calls, tokens, time, cost and the verdict."""
    setups = comparable(report)
    table = replace(_setup_table(setups, report.run.config.test_set), notes=list(brief_notes(setups)))
    narrow: Table | None = None
    for count in range(len(LEFT_OUT), 0, -1):
        narrow = replace(table.without(*LEFT_OUT[:count]), narrow=narrow)
    return replace(table, narrow=narrow)


def run_tables(report: Report) -> list[Table]:
    """Every figure of a run: the first table, then scores with their intervals, then what a trial took."""
    setups = comparable(report)
    names = _alike(setups)
    bounded = [name for name in names if _is_bounded(name, setups)]
    others = [name for name in names if name not in bounded]
    first = _setup_table(setups, "")
    ends: list[tuple[str, Cell]] = [
        ("version", lambda setup: _version(setup.summary) or UNKNOWN),
        ("without failure", lambda setup: f"{setup.summary.counts.answered} of {setup.summary.counts.planned}"),
        *(
            (status, lambda setup, status=status: counts(_kinds(status, setup.summary)))
            for status in ("failed", "not measured")
        ),
        *([("solved/unsure/unsolved", _verdicts)] if all(setup.whole for setup in setups) else []),
    ]
    notes = [
        *run_notes(setups),
        *(
            f"The same as {_label(name, setups)}: {', '.join(map(shown_name, same))}."
            for name, same in names.items()
            if same
        ),
    ]
    tables = [
        replace(first, title=_heading(report)),
        _as_rows("trials", setups, ends),
        _as_rows("scores", setups, [(_label(name, setups), _scored(name)) for name in bounded]),
        _as_rows("per trial", setups, [column for name in others for column in _amounts(name, setups)]),
    ]
    tables = [table for table in tables if table.columns[1:]]
    return [*tables[:-1], replace(tables[-1], notes=notes, legend=list(run_legend(setups)))]


def _setup_table(setups: Sequence[ShownSetup], title: str) -> Table:
    leading = next(iter(telling_names(setups)), JUDGED)
    columns: list[tuple[str, Cell]] = [
        (shown_name(leading), lambda setup: _share(setup, leading)),
        ("calls right", _calls_right),
        ("tokens", lambda setup: _middle(setup, TOKENS)),
        ("time", lambda setup: _middle(setup, TIME, _seconds)),
        ("cost", lambda setup: _middle(setup, COST, _dollars)),
        ("failed", lambda setup: f"{setup.summary.counts.failed or ''}"),
        ("not measured", lambda setup: f"{setup.summary.counts.not_measured or ''}"),
        ("verdict", lambda setup: verdict([one.summary for one in setups], setup.summary, leading)),
    ]
    return _as_rows(title, setups, columns)


def _as_rows(title: str, setups: Sequence[ShownSetup], columns: Iterable[tuple[str, Cell]]) -> Table:
    """A table with a row for each set-up, below its model if there are several, without figures that none has."""
    found = [(heading, [cell(setup) for setup in setups]) for heading, cell in columns]
    shown = [(heading, cells) for heading, cells in found if set(cells) - {UNKNOWN, ""}]
    models = list(dict.fromkeys(setup.model for setup in setups))
    rows = []
    for model in models:
        if len(models) > 1:
            rows.append(TableRow(model, ("",) * len(shown)))
        for place, setup in enumerate(setups):
            if setup.model == model:
                label = f"  {setup.name_beside_model}" if len(models) > 1 else setup.name
                rows.append(TableRow(label, tuple(cells[place] for _, cells in shown)))
    return Table(title, ("", *(heading for heading, _ in shown)), rows)


def _share(setup: ShownSetup, name: str) -> str:
    """A score that lies in [0, 1] in per cent, with its interval; another one as it is."""
    found = setup.scores.get(name)
    if found is None or found.value is None:
        return "void" if setup.summary.integrity.void else UNKNOWN
    if not found.interval:
        return compact(found.value)
    low, high = (percent(bound).removesuffix(" %") for bound in found.interval)
    return f"{percent(found.value)} [{low}, {high}]" + _other_n(setup, found.denominator, quality=found.quality)


def _calls_right(setup: ShownSetup) -> str:
    """The share of the expected calls that were made with the right arguments."""
    found = setup.summary.attribution
    known = setup.whole and found.gold_calls and not setup.summary.integrity.void
    return percent(found.right / found.gold_calls) if known else UNKNOWN


def _middle(setup: ShownSetup, name: str, written: Callable[[float], str] = compact) -> str:
    """The median of tokens, times or costs, or the mean where there is none."""
    found = setup.scores.get(name)
    value = None if found is None else found.value if found.median is None else found.median
    return UNKNOWN if value is None else written(value)


def _seconds(value: float) -> str:
    return f"{compact(value)} s" if value >= 100 else f"{value:.{1 if value >= 10 else 2}f} s"


def _dollars(value: float) -> str:
    return f"${compact(value)}"


def _is_bounded(name: str, setups: Sequence[ShownSetup]) -> bool:
    return any(name in setup.scores and setup.scores[name].interval for setup in setups)


def _scored(name: str) -> Cell:
    return lambda setup: _cell(name, setup)


def _amounts(name: str, setups: Sequence[ShownSetup]) -> Iterator[tuple[str, Cell]]:
    """Yield the columns of a score that is not bounded."""
    yield _label(name, setups), _scored(name)
    if name == COST:
        yield "cost per solved, USD", lambda setup: compact(setup.summary.cost_per_solved)
        yield "cost of all trials, USD", lambda setup: _whole_cost(setup.summary)
    if name == "model_time":
        yield "model_time, middle half, s", lambda setup: _middle_half(setup.scores.get(name))


def run_plots(report: Report) -> list[IntervalPlot]:
    """Every score that has intervals, with one point per set-up."""
    from trialbed.views import IntervalPlot

    setups = comparable(report)
    known = report.described
    return [
        IntervalPlot(
            f"{shown_name(name)}: {known[name].meaning}" if name in known and known[name].meaning else shown_name(name),
            [_point(name, setup) for setup in setups],
            limits=(0.0, 1.0),
        )
        for name in telling_names(setups)
        if _is_bounded(name, setups)
    ]


def run_records(report: Report) -> list[dict[str, Any]]:
    """One record per set-up and score."""
    config = report.run.config
    return [
        {
            "agent_name": setup.name,
            "framework_version": _version(setup.summary),
            "test_set": config.test_set,
            "model": setup.model,
            "run_id": report.run.run_id,
            "score": name,
            **_record(setup.scores[name], setup.summary),
        }
        for setup in comparable(report)
        for name in score_names([setup])
    ]


def _record(found: ScoreSummary, summary: Summary) -> dict[str, Any]:
    low, high = found.interval or (None, None)
    return {
        "mean": found.value,
        "low": low,
        "high": high,
        "median": found.median,
        "n": found.denominator,
        "trials": summary.counts.trials,
        "errors": summary.counts.trials - summary.counts.answered,
    }


def _point(name: str, setup: ShownSetup) -> PlotPoint:
    from trialbed.views import PlotPoint

    found = setup.scores.get(name)
    low, high = (found.interval if found else None) or (None, None)
    return PlotPoint(setup.name, setup.value(name), low, high, _cell(name, setup))


def _heading(report: Report) -> str:
    """The subject and the settings of a run, which are the same for every set-up."""
    config = report.run.config
    queries = number_of(len(config.query_ids), "query", "queries")
    *first, last = config.models or ("",)
    models = f"{', '.join(first)} and {last}" if first else last
    return (
        f"{config.test_set}: {queries}, model {models}, judge {config.judge}, selector {config.selector}, "
        f"seed {config.seed}, run {report.run.run_id}"
    )


def _alike(setups: Sequence[ShownSetup]) -> dict[str, list[str]]:
    """Return each score that is shown, with those beside it whose figures are the same for every set-up."""
    columns: dict[tuple[object, ...], str] = {}
    found: dict[str, list[str]] = {}
    for name in telling_names(setups):
        known = [setup.scores.get(name) for setup in setups]
        figures = tuple(one and (one.value, *(one.interval or ()), one.denominator) for one in known)
        if any(one and one.interval for one in known) and figures in columns and name != JUDGED:
            found[columns[figures]].append(name)
        else:
            found[name] = []
            columns.setdefault(figures, name)
    return found


def _version(summary: Summary) -> str | None:
    return summary.info.version if summary.info else None


def _kinds(status: str, summary: Summary) -> dict[str, int]:
    kinds = {found.kind: found.count for found in summary.failures if found.status == status}
    never_begun = summary.counts.not_measured - sum(kinds.values()) if status == "not measured" else 0
    return {**kinds, "not begun": never_begun} if never_begun else kinds


def _verdicts(setup: ShownSetup) -> str:
    if setup.summary.integrity.void:
        return UNKNOWN
    ends = setup.summary.counts
    return f"{ends.solved}/{ends.unsure}/{ends.unsolved}" + _other_n(setup, ends.judged, quality=True)


def _whole_cost(summary: Summary) -> str:
    """The cost of all trials and attempts; a lower bound where the model did not report the tokens of every answer."""
    tokens = summary.tokens
    return UNKNOWN if tokens.cost is None else f"{'at least ' if tokens.unreported else ''}{compact(tokens.cost)}"


def _label(name: str, setups: Sequence[ShownSetup]) -> str:
    known = setups[0].described
    return known[name].label if name in known else shown_name(name)


def _cell(name: str, setup: ShownSetup) -> str:
    found = setup.scores.get(name)
    if found is None or found.value is None:
        return UNKNOWN
    if found.interval is None and found.median is not None and found.unit in SKEWED:
        return f"{compact(found.value)} / {compact(found.median)}"
    text = mean_text(found) if found.interval else compact(found.value)
    return text + _other_n(setup, found.denominator, quality=found.quality)


def _middle_half(found: ScoreSummary | None) -> str:
    if found is None or found.quartiles is None:
        return UNKNOWN
    low, high = found.quartiles
    return f"{compact(low)} to {compact(high)}"


def _other_n(setup: ShownSetup, n: int, *, quality: bool) -> str:
    """The denominator, where it is not the number of trials that the notes say."""
    ends = setup.summary.counts
    usual = ends.answered + (ends.failed if quality else 0)
    return "" if n == usual else f" n={n}"
