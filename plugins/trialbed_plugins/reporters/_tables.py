"""The tables of a run, with a row for each setup, and its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from trialbed.records import SETTINGS, label_settings, score_title, varied_framework
from trialbed.report import Report, ScoreSummary, Summary, in_words, verdict
from trialbed.scoring import JUDGED
from trialbed.texts import number_of, percent
from trialbed.views import UNKNOWN, Table, TableRow, compact, counts
from trialbed.wire.addresses import short_address
from trialbed_plugins.reporters._notes import (
    SKEWED,
    brief_notes,
    mean_text,
    run_legend,
    run_notes,
    score_names,
    telling_names,
)

TOKENS, TIME, COST = "total_tokens", "wall_time", "cost"
"""The scores of the first table, in addition to the leading one."""

HISTORY = "history_kept"
TURN_TOKENS = {
    "tokens: turn 1": "tokens_at_turn_1",
    "turn 3": "tokens_at_turn_3",
    "turn 10": "tokens_at_turn_10",
    "last turn": "tokens_at_last_turn",
}
"""Maps headings in the table of conversations to scores."""

MEDIANS = ("tokens", "time", "cost")
"""Columns of the first table with a trial's median."""

LEFT_OUT = ("time", "tokens", "calls right")
"""Columns to drop from a narrow screen, in this order."""

Cell = Callable[[Summary], str]


def screen_tables(report: Report) -> list[Table]:
    """Return the tables of a screen, with success, right calls, cost and verdict of each setup, and success by tag."""
    table = replace(_setup_table(report, report.run.config.test_set), notes=list(brief_notes(report)))
    narrow: Table | None = None
    for count in range(len(LEFT_OUT), 0, -1):
        narrow = replace(table.without(*LEFT_OUT[:count]), narrow=narrow)
    return [replace(table, narrow=narrow), *conversation_tables(report), *tag_tables(report, _leading(report))]


def figure_tables(report: Report) -> list[Table]:
    """Return every figure of a run, first the main table, then scores with their intervals, then amounts per trial."""
    summaries, names = report.frameworks, _alike(report)
    unscored = not any(summary.counts.answered for summary in summaries)
    bounded = [name for name in names if unscored or _is_bounded(name, report)]
    others = [name for name in names if name not in bounded]
    ends: list[tuple[str, Cell]] = [
        ("version", lambda summary: _version(summary) or UNKNOWN),
        ("without failure", lambda summary: f"{summary.counts.answered} of {summary.counts.planned}"),
        ("failed", lambda summary: counts(_kinds("failed", summary))),
        ("not measured", lambda summary: counts(_kinds("not measured", summary))),
        *([] if any(summary.is_part for summary in summaries) else [("solved/unsure/unsolved", _verdicts)]),
    ]
    equal = [(_label(name, report), ", ".join(map(score_title, same))) for name, same in names.items() if same]
    notes = [*run_notes(report), *(f"The same as {label}: {same}." for label, same in equal)]
    tables = [
        replace(_setup_table(report, ""), title=_heading(report)),
        *conversation_tables(report),
        *tag_tables(report, _leading(report)),
        _as_rows("trials", summaries, ends),
        _as_rows("scores", summaries, [(_label(name, report), _scored(name)) for name in bounded], whole=unscored),
        _as_rows("per trial", summaries, [column for name in others for column in _amounts(name, report)]),
    ]
    tables = [table for table in tables if table.columns[1:]]
    return [*tables[:-1], replace(tables[-1], notes=notes, legend=list(run_legend(report)))]


def conversation_tables(report: Report) -> list[Table]:
    """Return the share of tasks with a complete history, and the tokens of turns; empty without conversations."""
    columns: list[tuple[str, Cell]] = [
        ("history kept", lambda summary: _share(summary, HISTORY)),
        *((heading, partial(_middle, name=name)) for heading, name in TURN_TOKENS.items()),
    ]
    table = _as_rows("conversations", report.frameworks, columns)
    return [table] if table.columns[1:] else []


def tag_tables(report: Report, score: str) -> list[Table]:
    """Return the mean of a score for each tag of tasks; empty without tags or figures."""
    columns: list[tuple[str, Cell]] = [
        (f"{tag} ({len(queries):,})", _of_tag(tag, score)) for tag, queries in report.run.config.tags.items()
    ]
    table = _as_rows(f"{score_title(score)} by tag (tasks)", report.frameworks, columns)
    return [table] if table.columns[1:] else []


def _of_tag(tag: str, score: str) -> Cell:
    return lambda summary: _share(summary.of_tag(tag), score)


def _leading(report: Report) -> str:
    return next(iter(telling_names(report)), JUDGED)


def _setup_table(report: Report, title: str) -> Table:
    leading = _leading(report)
    columns: list[tuple[str, Cell]] = [
        (score_title(leading), lambda summary: _share(summary, leading)),
        ("calls right", _calls_right),
        ("tokens", lambda summary: _middle(summary, TOKENS)),
        ("time", lambda summary: _middle(summary, TIME, _seconds)),
        ("cost", lambda summary: _middle(summary, COST, _dollars)),
        ("failed", lambda summary: f"{summary.counts.failed or ''}"),
        ("not measured", lambda summary: f"{summary.counts.not_measured or ''}"),
        ("verdict", lambda summary: verdict(report.frameworks, summary, leading)),
    ]
    return _as_rows(title, report.frameworks, columns)


def _as_rows(
    title: str, summaries: Sequence[Summary], columns: Iterable[tuple[str, Cell]], *, whole: bool = False
) -> Table:
    """Make a table with a row for each setup, below its model if there are several. Drop empty columns unless whole."""
    found = [(heading, [cell(summary) for summary in summaries]) for heading, cell in columns]
    shown = [(heading, cells) for heading, cells in found if set(cells) - {UNKNOWN, ""} or whole]
    models = list(dict.fromkeys(summary.model for summary in summaries))
    rows = []
    for model in models:
        if len(models) > 1:
            rows.append(TableRow(model, ("",) * len(shown)))
        for place, summary in enumerate(summaries):
            if summary.model == model:
                label = f"  {_label_without_model(summary)}" if len(models) > 1 else summary.framework
                rows.append(TableRow(label, tuple(cells[place] for _, cells in shown)))
    return Table(title, ("", *(heading for heading, _ in shown)), rows)


def _label_without_model(summary: Summary) -> str:
    cell = summary.run.config.cell(summary.framework)
    rest = label_settings(cell.label).removeprefix(cell.model).removeprefix(short_address(cell.model)).strip(",")
    return f"{varied_framework(cell.label)}{SETTINGS}{rest}" if rest else varied_framework(cell.label)


def _share(summary: Summary, name: str) -> str:
    """Format a score in [0, 1] as a percentage with its interval. Other scores stay plain numbers."""
    found = summary.shown.get(name)
    if found is None or found.value is None:
        return "void" if summary.integrity.void else UNKNOWN
    if not found.interval:
        return compact(found.value)
    low, high = (percent(bound).removesuffix(" %") for bound in found.interval)
    return f"{percent(found.value)} [{low}, {high}]" + _other_n(summary, found.denominator, quality=found.quality)


def _calls_right(summary: Summary) -> str:
    """Return the share of the expected calls that were made with the right arguments."""
    found = summary.attribution
    known = found.gold_calls and not (summary.is_part or summary.integrity.void)
    return percent(found.right / found.gold_calls) if known else UNKNOWN


def _middle(summary: Summary, name: str, written: Callable[[float], str] = compact) -> str:
    """Return the median of tokens, times or costs, or else the mean."""
    found = summary.shown.get(name)
    value = None if found is None else found.value if found.median is None else found.median
    return UNKNOWN if value is None else written(value)


def _seconds(value: float) -> str:
    return f"{compact(value)} s" if value >= 100 else f"{value:.{1 if value >= 10 else 2}f} s"


def _dollars(value: float) -> str:
    return f"${compact(value)}"


def _is_bounded(name: str, report: Report) -> bool:
    return any(name in summary.shown and summary.shown[name].interval for summary in report.frameworks)


def _scored(name: str) -> Cell:
    return lambda summary: _cell(name, summary)


def _amounts(name: str, report: Report) -> Iterator[tuple[str, Cell]]:
    """Yield the columns of an unbounded score."""
    yield _label(name, report), _scored(name)
    if name == COST:
        yield "cost per solved, USD", lambda summary: compact(summary.cost_per_solved)
        yield "cost of all trials, USD", lambda summary: _whole_cost(summary)
    if name == "model_time":
        yield "model time, middle half, s", lambda summary: _middle_half(summary.shown.get(name))


def run_records(report: Report) -> list[dict[str, Any]]:
    """Return one record per setup and score."""
    test_set, run_id, records = report.run.config.test_set, report.run.run_id, []
    for summary in report.frameworks:
        trials, answered = summary.counts.trials, summary.counts.answered
        setup = {"agent_name": summary.framework, "framework_version": _version(summary), "test_set": test_set}
        setup |= {"model": summary.model, "run_id": run_id}
        for name in score_names([summary], report.described):
            found = summary.shown[name]
            low, high = found.interval or (None, None)
            figures = {"mean": found.value, "low": low, "high": high, "median": found.median, "n": found.denominator}
            records.append({**setup, "score": name, **figures, "trials": trials, "errors": trials - answered})
    return records


def _heading(report: Report) -> str:
    """Return the subject of a run and the settings shared by all setups."""
    config = report.run.config
    queries = number_of(len(config.query_ids), "task", "tasks")
    return (
        f"{config.test_set}: {queries}, model {in_words(config.models)}, judge {config.judge}, "
        f"selector {config.selector}, seed {config.seed}, run {report.run.run_id}"
    )


def _alike(report: Report) -> dict[str, list[str]]:
    """Return each displayed score, with others that have the same figures for every setup."""
    columns: dict[tuple[object, ...], str] = {}
    found: dict[str, list[str]] = {}
    apart = (HISTORY, *TURN_TOKENS.values())
    for name in (one for one in telling_names(report) if one not in apart):
        known = [summary.shown.get(name) for summary in report.frameworks]
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


def _verdicts(summary: Summary) -> str:
    if summary.integrity.void:
        return UNKNOWN
    ends = summary.counts
    return f"{ends.solved}/{ends.unsure}/{ends.unsolved}" + _other_n(summary, ends.judged, quality=True)


def _whole_cost(summary: Summary) -> str:
    """Return the cost of all trials and attempts. It is a lower bound if the model did not report all tokens."""
    tokens = summary.tokens
    return UNKNOWN if tokens.cost is None else f"{'at least ' if tokens.unreported else ''}{compact(tokens.cost)}"


def _label(name: str, report: Report) -> str:
    return report.described[name].label if name in report.described else score_title(name)


def _cell(name: str, summary: Summary) -> str:
    found = summary.shown.get(name)
    if found is None or found.value is None:
        return UNKNOWN
    if found.interval is None and found.median is not None and found.unit in SKEWED:
        return f"{compact(found.value)} / {compact(found.median)}"
    text = mean_text(found) if found.interval else compact(found.value)
    return text + _other_n(summary, found.denominator, quality=found.quality)


def _middle_half(found: ScoreSummary | None) -> str:
    if found is None or found.quartiles is None:
        return UNKNOWN
    low, high = found.quartiles
    return f"{compact(low)} to {compact(high)}"


def _other_n(summary: Summary, n: int, *, quality: bool) -> str:
    """Return the denominator if it differs from the number of trials in the notes."""
    ends = summary.counts
    usual = ends.answered + (ends.failed if quality else 0)
    return "" if n == usual else f" n={n}"
