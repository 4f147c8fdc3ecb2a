"""The sections of a page of published results, from the conclusions to the tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from trialbed.attribution import USED
from trialbed.records import STAGES, score_title
from trialbed.scoring import JUDGED
from trialbed.texts import number_of
from trialbed.views import UNKNOWN, Plot, Table, TableRow, compact, counts
from trialbed_pages.publishing._figures import TOKENS, interval_text, mean_of
from trialbed_pages.publishing._numbers import TURN_TOKENS, RunNumbers

Part: TypeAlias = Table | Plot

KINDS = {"reference": "against {}", "profile": "defaults against conductor only"}


def parts_of(run: RunNumbers, figures: Mapping[str, Plot], *, name: str = "") -> list[Part]:
    """Return the sections of a run's page; the first three are its result.

    Args:
        figures: the run's.
        name: begins the titles of its sections if the page has other runs.
    """
    prefix = f"{name}: " if name else ""
    concluded = [one.conclusion for one in run.frameworks]
    found: list[Part] = [
        Table(f"{prefix}The result of each setup", notes=[BRACKETS, *concluded]),
        figures["solved"],
        _costs(run, prefix),
        *_conversations(run, prefix),
        *_comparisons(run, prefix),
        *_losses(run, prefix),
        _tasks(run, prefix),
    ]
    if "losses" in figures:
        found.insert(next(place for place, one in enumerate(found) if one.title.endswith(LOST)), figures["losses"])
    return found


BRACKETS = (
    "In brackets: the 95 % interval. An expected call is one that a task needs, counted in each trial; it was used if "
    "something of its result stands in the answer or in a later call."
)


def _costs(run: RunNumbers, prefix: str) -> Table:
    rows = []
    for one in run.frameworks:
        solved, whole = sum(map(sum, one.solved.values())), one.prompt_tokens + one.completion_tokens
        setup = (one.label, one.version or UNKNOWN, str(one.trials), counts(one.failures) or "none")
        each, requests = mean_of(one, TOKENS).value, one.requests / one.trials if one.trials else None
        costs = (each, requests, whole / solved if solved and whole else None)
        rows.append((*setup, interval_text(mean_of(one, JUDGED)), *map(compact, costs)))
    figures = ("failed", "solved", "tokens a trial", "requests a trial", "tokens a solved task")
    note = "In brackets: the 95 % interval. A trial that failed is not solved. Tokens are means of the model's counts."
    title = f"{prefix}What is solved, and what it costs in tokens"
    return Table.of(title, ("", "version", "trials", *figures), rows, [note])


KEPT = {"history kept": "history_kept", "remembered": "remembered", "policy kept": "policy_kept"}
"""Column of the table of conversations -> its score, which lies in [0, 1]."""


def _conversations(run: RunNumbers, prefix: str) -> Iterator[Table]:
    """Yield the share of trials that kept the history, and the tokens of turns; nothing without conversations."""
    columns = {
        heading: name
        for heading, name in (KEPT | TURN_TOKENS).items()
        if any(name in one.scores for one in run.frameworks)
    }
    if TURN_TOKENS.keys().isdisjoint(columns):
        return
    rows = []
    for one in run.frameworks:
        means = {heading: mean_of(one, name) for heading, name in columns.items()}
        cells = (interval_text(mean) if heading in KEPT else compact(mean.value) for heading, mean in means.items())
        rows.append((one.label, *cells))
    title = f"{prefix}What is kept of a conversation, and what its turns cost in tokens"
    yield Table.of(title, ("", *columns), rows, [CONVERSATIONS])


CONVERSATIONS = (
    "history kept: each turn's first request has all messages of the turns before. remembered: the share of right "
    "calls and facts among those that need something of an earlier turn. Tokens of a turn are those of its prompts, as "
    "a mean over the conversations that have the turn."
)


def _comparisons(run: RunNumbers, prefix: str) -> Iterator[Table]:
    kinds = {kind: found for kind in KINDS if (found := [one for one in run.findings if one.kind == kind])}
    legend = [_comparison_legend(run.margin)]
    for kind, found in kinds.items():
        scores = list(dict.fromkeys(one.score for one in found))
        rows = [
            TableRow(
                f"{score_title(one.score)}: {one.framework}",
                (one.text, f"{one.changed} of {one.n}", one.p, one.verdict),
            )
            for one in sorted(found, key=lambda one: scores.index(one.score))
        ]
        title = f"{prefix}Paired comparison, {KINDS[kind].format(found[0].against)}"
        yield Table(title, ("", "difference", "changed", "p", "verdict"), rows, legend)
        legend = []


CALLED = score_title("api_call_score")


def _comparison_legend(margin: float) -> str:
    return (
        f"{CALLED}: the share of a task's expected tools that were called, with any arguments. difference: the "
        "mean over tasks with its 95 % interval, which allows for tasks that were not asked. changed: tasks on which "
        f"the two differ. p is adjusted for the number of comparisons. equivalent: the interval is within {margin:g}. "
        "identical: the same on every task. too few: about as many tasks as in brackets would show a difference, or "
        f"that it is below {margin:g}."
    )


LOST, TASKS = "Where calls were lost", "Each task"


def _losses(run: RunNumbers, prefix: str) -> Iterator[Table]:
    stages = [stage for stage in STAGES if any(one.gold_calls.get(stage) for one in run.frameworks)]
    if not stages:
        return
    columns = [*stages, USED]
    rows = [
        (one.label, str(sum(one.gold_calls.values())), *(str(one.gold_calls.get(name, 0)) for name in columns))
        for one in run.frameworks
    ]
    notes = [
        "Each expected call of each trial is counted once, at the first stage that it did not pass. numbers.json has "
        "every lost call with its reason.",
        *(f"{reason}: {number_of(n, 'call')}" for reason, n in _reasons(run)),
    ]
    yield Table.of(f"{prefix}{LOST}", ("", "expected", *columns), rows, notes)


def _reasons(run: RunNumbers) -> list[tuple[str, int]]:
    found: dict[str, int] = {}
    for framework in run.frameworks:
        for call in framework.lost:
            key = f"{call.stage}, {call.reason}" if len(call.reason) <= LONGEST else call.stage
            found[key] = found.get(key, 0) + 1
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]


LONGEST, SHOWN = 60, 6


def _tasks(run: RunNumbers, prefix: str) -> Table:
    solved: dict[str, list[tuple[str, Sequence[float]]]] = {}
    for one in run.frameworks:
        for query, values in one.solved.items():
            solved.setdefault(query, []).append((one.label, values))
    rows = []
    for task in run.queries:
        own = solved.get(task.query, [])
        trials = [value for _, values in own for value in values]
        always = sum(bool(values) and min(values) >= 1 for _, values in own)
        never = sum(bool(values) and max(values) == 0 for _, values in own)
        share = f"{sum(trials):g} of {len(trials)}"
        rows.append((f"{task.query}: {task.text}", str(task.tools), str(task.calls), share, str(always), str(never)))
    columns = ("", "tools", "calls", "trials solved", "setups: always", "never")
    return Table.of(f"{prefix}{TASKS}", columns, rows)
