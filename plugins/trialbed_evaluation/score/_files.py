"""Scores files of conversations."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import print_json
from trialbed.errors import DataError, UsageError
from trialbed_evaluation.judge_settings import settings_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from trialbed.views import Table
    from trialbed_evaluation.conversations import Sample
    from trialbed_evaluation.metrics import MetricSummary, SampleScores, ScoringOptions, StepModel

EXPLAINED = 5
"""Number of explained samples, lowest values first."""


def score(path: Path, given: Mapping[str, Any]) -> int:
    """Score a file and print the result.

    Returns:
        The exit code: 1 if a mean is below its threshold, 3 if nothing could be scored or the model failed.

    Raises:
        UsageError: an option is wrong, or does not fit the file.
        DataError: the file is malformed; names file, line and key.
    """
    import asyncio

    from trialbed.cli.thresholds import parse_thresholds
    from trialbed.records import ScoreDescription
    from trialbed.report import check_values

    least = parse_thresholds(given["fail_under"], "tool_call_f1=0.8")
    check_values(least, {name: ScoreDescription(name) for name in least})  # all metrics are shares
    samples = _samples(path, given["reference"])
    options = settings(given)
    check_used(options.rules, samples, options.tools)
    scores, summaries = asyncio.run(score_all(samples, given, options))
    names = [found.name for found in summaries]
    for name in least:
        if name not in names:
            raise UsageError(f"--fail-under: {name!r} was not scored; scored were {', '.join(names)}")
    if given["as_json"]:
        print_json(document(str(path), scores, summaries))
    else:
        print_results(str(path), scores, summaries)
    return exit_code(summaries, least)


def _samples(path: Path, reference: Path | None) -> list[Sample]:
    from trialbed_evaluation.conversations import read_references, read_samples

    samples = read_samples(path)
    if reference is None:
        return samples
    right = read_references(reference)
    unknown = sorted(set(right) - {sample.id for sample in samples})
    if len(unknown) == len(right):
        raise DataError(f"{reference}: none of its ids occurs in {path}, whose first is {samples[0].id!r}")
    if unknown:
        click.echo(f"{reference}: {len(unknown)} of its ids do not occur in {path}, such as {unknown[0]!r}", err=True)
    return [replace(sample, **right.get(sample.id, {})) for sample in samples]


def settings(given: Mapping[str, Any]) -> ScoringOptions:
    """Read the settings of scoring from the options.

    Raises:
        UsageError, DataError: an option or the file of tools is wrong.
    """
    from trialbed_evaluation.metrics import ScoringOptions

    rules = parse_rules(given["rules"])
    if rules and given["compat"]:
        raise UsageError(f"--rule: --compat {given['compat']} compares in its own way, and takes no rules")
    return ScoringOptions(order=given["order"], rules=rules, tools=_tools(given["tools"]), compat=given["compat"])


def _tools(path: Path | None) -> Mapping[str, Mapping[str, Any]]:
    from trialbed.files import read_text
    from trialbed.wire import parse_json
    from trialbed_evaluation.conversations import read_tools

    if path is None:
        return {}
    try:
        value = parse_json(read_text(path))
    except ValueError as error:
        raise DataError(f"{path}: is not JSON: {error}") from None
    return read_tools(value.get("tools", value) if isinstance(value, dict) else value, str(path))


async def score_all(
    samples: Sequence[Sample], given: Mapping[str, Any], options: ScoringOptions
) -> tuple[list[SampleScores], list[MetricSummary]]:
    """Return the scores of samples, and the mean of each.

    Raises:
        UsageError: no sample has the parts that a metric needs, or an option is wrong.
    """
    from trialbed_evaluation.metrics import METRICS, lacking, score_samples, summarize

    async with _model(given) as model:
        options = replace(options, model=model, at_once=given["concurrency"])
        chosen = list(dict.fromkeys(given["metrics"])) or [
            metric for metric in METRICS if any(not lacking(metric, sample, options) for sample in samples)
        ]
        if not chosen:
            reasons = "; ".join(f"{metric}: {lacking(metric, samples[0], options)}" for metric in METRICS)
            raise UsageError(f"no sample has what a metric needs ({reasons}); --reference FILE can give it")
        scores = await score_samples(samples, chosen, options)
    return scores, summarize(scores)


@asynccontextmanager
async def _model(given: Mapping[str, Any]) -> AsyncIterator[StepModel | None]:
    """Yield the model of the judge; None if it is not needed."""
    if given["judge"] is None and given["judge_model"] is None:
        source = click.get_current_context().get_parameter_source("base_url")
        if source is click.core.ParameterSource.COMMANDLINE:  # others are for commands that ask a model
            raise UsageError("--base-url names an endpoint, but none of its models is used: give --judge MODEL")
        yield None
        return
    from trialbed.engine import standing_judge
    from trialbed_evaluation.metrics import ChatModel

    settings = settings_of(given)
    async with standing_judge(settings) as (judge, _):
        if judge.model is None:
            raise UsageError(f"--judge {settings.judge}: does not ask a model; give --judge MODEL")
        yield ChatModel(judge.model)


def document(title: str, scores: Sequence[SampleScores], summaries: Sequence[MetricSummary]) -> dict[str, Any]:
    """Return the result as JSON."""
    summary = {
        one.name: {"mean": one.mean, **_interval(one)}
        | {"scored": one.scored, "unscored": one.unscored, "reasons": dict(one.reasons)}
        for one in summaries
    }
    results = [found.as_json() for found in scores]
    return {"file": title, "samples": len(scores), "summary": summary, "results": results}


def _interval(found: MetricSummary) -> dict[str, float | None]:
    from trialbed.statistics import wilson_interval

    if found.mean is None:
        return {"low": None, "high": None}
    interval = wilson_interval(min(found.mean, 1.0), found.scored)
    return {"low": interval.low, "high": interval.high}


def print_results(title: str, scores: Sequence[SampleScores], summaries: Sequence[MetricSummary]) -> None:
    """Print the means, and the reasons of the samples with the lowest values."""
    from trialbed.views import print_tables

    print_tables([_table(title, scores, summaries)], sys.stdout)
    for line in _explain(scores):
        click.echo(line)


def _table(name: str, scores: Sequence[SampleScores], summaries: Sequence[MetricSummary]) -> Table:
    from trialbed.views import Table, number

    rows = []
    for found in summaries:
        interval = _interval(found)
        between = f"{number(interval['low'])}-{number(interval['high'])}" if found.mean is not None else "-"
        rows.append((found.name, number(found.mean), between, str(found.scored), str(found.unscored)))
    notes = [
        f"{found.name}: {count} without a value: {reason}"
        for found in summaries
        for reason, count in found.reasons.items()
    ]
    references = [found.sample.right_calls for found in scores]
    by_name = sum(1 for calls in references if calls and all(call.args is None for call in calls))
    if by_name:
        notes.append(f"{by_name} compared by the names of tools only, because the reference has no arguments")
    title = f"{name}, {len(scores)} {'sample' if len(scores) == 1 else 'samples'}"
    return Table.of(title, ("metric", "mean", "95 % interval", "scored", "not scored"), rows, notes)


def _explain(scores: Sequence[SampleScores]) -> Iterator[str]:
    """Yield the reasons for imperfect samples, lowest values first."""
    from trialbed.views import printable

    lowest = [(min(found.values.values(), default=1.0), found) for found in scores]
    wrong = [found for value, found in sorted(lowest, key=lambda pair: pair[0]) if value < 1]
    for found in wrong[:EXPLAINED]:
        yield ""
        yield printable(f"{found.sample.id} ({found.sample.place})")
        for name, result in found.results.items():
            if found.values.get(name, 1.0) < 1:
                yield from (f"  {printable(line)}" for line in _reason(name, result).splitlines())
    if len(wrong) > EXPLAINED:
        yield ""
        yield f"{len(wrong) - EXPLAINED} more are not right; --json explains all."


def _reason(name: str, result: Any) -> str:
    if hasattr(result, "diagnosis"):
        return str(result.reason)
    return f"{name} {result.value:.4g}\n  " + "\n  ".join(str(result.reason).splitlines())


def exit_code(summaries: Sequence[MetricSummary], thresholds: Mapping[str, float]) -> int:
    """3 if nothing could be scored or the model failed, 1 if a mean is below its threshold, else 0."""
    failed = False
    for found in summaries:
        least = thresholds.get(found.name)
        if least is not None and (found.mean is None or found.mean < least):
            shown = "not scored" if found.mean is None else f"{found.mean:.4g}"
            click.echo(f"{found.name} is {shown}, below {least:g}", err=True)
            failed = True
    if not any(found.scored for found in summaries):
        click.echo("Error: nothing could be scored.", err=True)
        return 3
    lacking = [found for found in summaries if found.failed]
    for found in lacking:
        count = "1 sample has" if found.failed == 1 else f"{found.failed} samples have"
        click.echo(f"Error: {count} no {found.name}, because an answer of the model cannot be used", err=True)
    if lacking:
        return 3
    return 1 if failed else 0


def parse_rules(given: Iterable[str]) -> dict[str, str]:
    """Name of an argument -> rule.

    Raises:
        UsageError: one is malformed, an argument has two, or a rule does not exist.
    """
    from trialbed_evaluation.metrics import parse_rule

    rules: dict[str, str] = {}
    for text in given:
        name, equals, rule = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--rule: {text!r} does not have the form ARGUMENT=RULE, such as query=text")
        parse_rule(rule)
        if rules.setdefault(name, rule) != rule:
            raise UsageError(f"--rule: {name!r} has two rules, {rules[name]!r} and {rule!r}")
    return rules


def check_used(rules: Mapping[str, str], samples: Sequence[Sample], tools: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that each rule is for an argument that a call or the definition of a tool has.

    Raises:
        UsageError: one is not; suggests another.
    """
    from trialbed.suggestions import closest, did_you_mean

    schemas = [tools, *(sample.tools for sample in samples)]
    named = [(tool, name) for own in schemas for tool, schema in own.items() for name in schema.get("properties") or {}]
    calls = (call for sample in samples for call in (*sample.calls, *sample.right_calls))
    named += [(call.name, name) for call in calls for name in call.args or {}]
    known = {text for tool, name in named for text in (name, f"{tool}.{name}")} if rules else set()
    for rule in rules:
        # A rule may be for a part of an argument.
        if not any(rule == name or rule.startswith((f"{name}.", f"{name}[]")) for name in known):
            hint = did_you_mean(closest(rule, known))
            raise UsageError(f"--rule {rule}={rules[rule]}: no tool or call has this argument{hint}")
