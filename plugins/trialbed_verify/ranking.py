"""Ranks vendors by Inverse Rank Fusion over six metrics, per model and over all models.

``candidates`` measures vendors from their answers, ``read_table`` and ``read_rank_files`` read their figures, ``rank``
gives them their places, and ``compare_and_rank`` compares and ranks the vendors of one verification.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import truediv
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from trialbed.errors import DataError, UsageError
from trialbed.files import replace_file
from trialbed.statistics import RESAMPLES, CaseBootstrap, Estimate
from trialbed.texts import group_by_key
from trialbed.wire import parse_json
from trialbed_verify.compare import (
    Column,
    SideRows,
    agreement,
    compare,
    count_cases,
    excess_f1,
    judge_pairs,
    self_agreement,
)
from trialbed_verify.panel import Panel, PanelOptions
from trialbed_verify.rows import VendorRows
from trialbed_verify.summary import as_document, cost
from trialbed_verify.table import SIDES, Answers, Case, Pairing, name_apart, pair, read_one


class Metric(NamedTuple):
    """A metric with its column in tables, its meaning, and its file in a folder of ranks, without ``.json``.

    A share lies between 0 and 1. Other metrics can't be 0, which other tools write for unknown values.
    """

    label: str
    meaning: str
    file: str
    more_is_better: bool = True
    is_share: bool = False


_F1 = "how far it calls tools where the baseline does, 1 if in the same cases"
_SCHEMA = "the share of answers with calls whose calls all fit their tools' schemas"

METRICS: Mapping[str, Metric] = {
    "success_rate": Metric("success", "the share of requests with a valid answer", "success_rate", is_share=True),
    "f1": Metric("F1", _F1, "f1_score", is_share=True),
    "tps": Metric("tokens/s", "the mean speed of answers", "avg_throughput"),
    "schema_accuracy": Metric("schema", _SCHEMA, "schema_accuracy", is_share=True),
    "ttft_ms": Metric("TTFT, ms", "the mean time to the first token", "avg_ttft_ms", more_is_better=False),
    "avg_token": Metric("tokens", "the mean number for an answer", "avg_tokens", more_is_better=False),
}
"""Name of the metric in tables -> its description."""

QUALITY = tuple(name for name, about in METRICS.items() if about.is_share)
"""Metrics that only vendors without valid answers lack; speed and cost metrics depend on streaming."""

FIGURES = {"tps": "tps", "ttft_ms": "ttft_ms", "avg_token": "total_tokens"}
"""Metric -> the averaged figure of result rows."""

MANNER = ("text-opening", "text-length", "text-words", "usage", "tokens", "prompt-tokens", "bill", "logprobs")
"""Gates of manner and cost, which callers do not rely on."""

TABLE_MIN_F1 = 0.5
"""For a table, which has no F1 of chance: below it, more calls are wrong or missing than right."""

K = 5
"""Added to each rank; with six metrics, a candidate that is first in all of them scores 1."""

CONFIDENCE = 0.95
"""Two candidates are tied unless one is ahead in this share of resamples."""

EPSILON = 1e-12
"""Scores with a smaller difference are equal up to floating-point error."""

STREAM_HINT = ". Only streamed answers have a time to the first token: verify with --stream to rank by it"
ONE_TRIAL = "its F1 is 1 by convention, as its self-consistency is unknown with one trial per case"
SELF_F1 = "its F1 is its self-F1, the agreement of its own trials with each other"
NO_BETTER = "its decisions are not shown to be better than chance: F1 minus the F1 of chance"
NO_BASELINE = "no vendor is marked as the baseline, so vendors were not compared; mark one with is_baseline: true"

DOCUMENTED = ("model", "vendor", "is_baseline", "metrics", "notes", "reasons")
PLACE = ("rank", "tie", "irf", "rank_low", "rank_high", "tied_with")
"""Attributes of a vendor, and of its place, that its JSON has unchanged."""

Status = Literal["ranked", "behind", "not_ranked"]
STATUSES: tuple[Status, ...] = get_args(Status)

Name = tuple[str, str]
"""A model, and a vendor that serves it."""

Columns = Mapping[str, tuple[Column, Column]]
"""Metric -> numerator and denominator per case: the metric is the ratio of their sums."""


@dataclass(frozen=True)
class RankedVendor:
    """A model at a vendor, with its six metrics and, once it is ranked, its place.

    Attributes:
        metrics: a missing metric has no value.
        protocol_errors: the share of answers that broke the protocol; None if unknown.
        excess: F1 above chance at the same trigger rates, with its one-sided 95 % bound as ``low``; None if it is
            unknown or meaningless.
        columns: for resampling; None if only figures are known. Cases are in the same order for a whole model.
        cost: of 1,000 answers at the configured prices; None without prices.
        incomplete: the cases that its file lacks, in words; empty if none.
        notes: remarks for readers of its row.
        panel: the panel's verdict on it; None for a baseline or a table.
        status: ``behind`` for a vendor that is placed last, after all ranked ones.
        score, ranks: by Inverse Rank Fusion, of the rank in each metric.
        rank_low, rank_high: the places in 95 % of resamples; None for a table.
        tied_with: names of vendors with no clear order in 95 % of resamples; None for a table.
        reasons: reasons for not being ranked, or for the last place.
    """

    model: str
    vendor: str
    metrics: Mapping[str, Estimate]
    is_baseline: bool = False
    protocol_errors: float | None = None
    excess: Estimate | None = None
    columns: Columns | None = None
    cost: float | None = None
    incomplete: str = ""
    notes: tuple[str, ...] = ()
    panel: Panel | None = None
    status: Status = "not_ranked"
    rank: int | None = None
    tie: bool | None = None
    score: Fraction | None = None
    ranks: Mapping[str, Fraction] = field(default_factory=dict)
    rank_low: int | None = None
    rank_high: int | None = None
    tied_with: tuple[Name, ...] | None = None
    reasons: tuple[str, ...] = ()

    @property
    def name(self) -> Name:
        """Return model and vendor."""
        return self.model, self.vendor

    @property
    def irf(self) -> float | None:
        """Return the score as a number."""
        return None if self.score is None else float(self.score)

    @property
    def is_different(self) -> bool:
        """Return whether the panel shows that the vendor differs from its baseline."""
        return self.panel is not None and self.panel.finding == "different"

    def value(self, metric: str) -> float | None:
        """Return a metric, if it is known."""
        return self.metrics[metric].value

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object; unknown values are null or empty."""
        panel, found = self.panel, {name: as_document(getattr(self, name)) for name in (*DOCUMENTED, *PLACE)}
        found |= {"cost_per_1000": self.cost, "irf_exact": None if self.score is None else str(self.score)}
        found["ranks"] = {metric: float(own) for metric, own in self.ranks.items()}
        return found | {"panel": panel and {name: getattr(panel, name) for name in ("finding", "reason", "different")}}


@dataclass(frozen=True)
class Gates:
    """Minimum requirements for being ranked.

    Attributes:
        min_f1: least F1; None for the F1 of chance or, for a table, one half.
        rank_different: also rank vendors that break what callers rely on.
    """

    min_success: float = 0.9
    max_protocol_errors: float = 0.05
    min_f1: float | None = None
    rank_different: bool = False


@dataclass(frozen=True)
class Standings:
    """The ranked vendors, the vendors placed behind them, and the unranked ones."""

    baseline: str | None
    ranked: tuple[RankedVendor, ...]
    behind: tuple[RankedVendor, ...]
    not_ranked: tuple[RankedVendor, ...]

    @property
    def rows(self) -> tuple[RankedVendor, ...]:
        """Return all vendors."""
        return (*self.ranked, *self.behind, *self.not_ranked)


@dataclass(frozen=True)
class Ranking:
    """The ranks of all vendors of each model.

    Attributes:
        resamples, seed: of the intervals; None without intervals.
        overall: the vendors of all models together.
    """

    gates: Gates
    metrics: tuple[str, ...]
    resamples: int | None
    seed: int | None
    models: Mapping[str, Standings]
    overall: Standings
    notes: tuple[str, ...]
    k: int = K

    def as_json(self) -> dict[str, Any]:
        """Return one JSON object."""
        models = [{"model": model, **vars(found)} for model, found in self.models.items()]
        found = as_document(vars(self) | {"models": models})
        return {"global" if name == "overall" else name: value for name, value in found.items()}


def rank(
    vendors: Sequence[RankedVendor], gates: Gates | None = None, metrics: Collection[str] | None = None
) -> Ranking:
    """Rank the vendors of each model, and the vendors of all models together.

    By default, all metrics of quality count, and the metrics of speed and cost that every vendor has.
    """
    wanted, least = metrics, gates or Gates()
    if wanted is None:
        able = [one for one in vendors if _admit(one, least, QUALITY).status == "ranked"]
        wanted = [metric for metric in METRICS if all(one.value(metric) is not None for one in able)]
    counting = tuple(metric for metric in METRICS if metric in wanted)
    by_model = group_by_key((one.model, one) for one in vendors)
    models = {name: _rank(own, least, counting) for name, own in by_model.items()}
    is_resampled = all(one.columns is not None for one in vendors)
    notes = [_not_counted(metric, vendors) for metric in METRICS if metric not in counting]
    notes += [] if is_resampled else ["Ranks from a table have no intervals, which need result files"]
    drawn, seed = (RESAMPLES, 0) if is_resampled else (None, None)
    return Ranking(least, counting, drawn, seed, models, _rank(vendors, least, counting), tuple(notes))


def _not_counted(metric: str, vendors: Sequence[RankedVendor]) -> str:
    lacking = sorted(f"{one.vendor} ({one.model})" for one in vendors if one.value(metric) is None)
    said = f"Not ranked by {_short(metric)}{'; missing for ' * bool(lacking)}{', '.join(lacking)}"
    return said + STREAM_HINT * bool(lacking and metric == "ttft_ms")


def _short(metric: str) -> str:
    return METRICS[metric].label.partition(",")[0]


def _rank(vendors: Sequence[RankedVendor], gates: Gates, metrics: Sequence[str]) -> Standings:
    admitted = [_admit(one, gates, metrics) for one in vendors]
    ranked, behind, out = ([one for one in admitted if one.status == status] for status in STATUSES)
    last = tuple(replace(one, rank=len(ranked) + 1, tie=len(behind) > 1) for one in behind)
    baseline = next((one.vendor for one in vendors if one.is_baseline), None)
    return Standings(baseline, _place(ranked, metrics), last, tuple(out))


def _admit(one: RankedVendor, gates: Gates, metrics: Collection[str]) -> RankedVendor:
    """Return a vendor with its status and the reasons for not ranking it or placing it last."""
    if reasons := tuple(_exclusions(one, gates, metrics)):
        return replace(one, status="not_ranked", reasons=reasons)
    reason = "" if one.is_baseline else _reason_to_place_last(one, gates)
    return replace(one, status="behind", reasons=(reason,)) if reason else replace(one, status="ranked")


def _exclusions(one: RankedVendor, gates: Gates, metrics: Collection[str]) -> Iterator[str]:
    rate, errors, most = one.value("success_rate"), one.protocol_errors or 0.0, gates.max_protocol_errors
    if missing := [_short(metric) for metric in METRICS if metric in metrics and one.value(metric) is None]:
        yield f"no figure for {', '.join(missing)}"
    if one.incomplete:
        yield one.incomplete
    if rate is not None and rate < gates.min_success:
        yield f"success rate {rate:.4f} is below {gates.min_success:g}"
    if errors > most:
        yield f"{100 * errors:.1f} % of its answers break the protocol, more than {100 * most:.1f} %"


def _reason_to_place_last(one: RankedVendor, gates: Gates) -> str:
    """Return the reason for placing a vendor last, after all ranked ones, or an empty text."""
    value, least, excess = one.value("f1"), gates.min_f1, one.excess or Estimate(None)
    if least is None and one.columns is None:
        least = TABLE_MIN_F1
    if least is not None and value is not None and value < least:
        return f"F1 {value:.4f} is below {least:g}"
    low = excess.interval.low if excess.interval else None
    if least is None and excess.value is not None and not (low and low > 0):
        return f"{NO_BETTER} is {excess.value:+.4f}, lower bound {'unknown' if low is None else f'{low:+.4f}'}"
    apart = one.panel.gates if one.panel and one.is_different and not gates.rank_different else ()
    # No speed or price makes up for a difference that breaks callers.
    broken = [found.gate.meaning for found in apart if found.finding == "different" and found.gate.name not in MANNER]
    return f"it differs in what callers rely on ({', '.join(broken)})" if broken else ""


def _place(vendors: Sequence[RankedVendor], metrics: Sequence[str]) -> tuple[RankedVendor, ...]:
    """Return the vendors in the order of their scores; equal scores share the better place."""
    if not vendors:
        return ()
    figures = np.array([[one.value(metric) for metric in metrics] for one in vendors], dtype=np.float64)
    ranks = [list(map(Fraction, own)) for own in _metric_ranks(figures, metrics)]
    scores = [sum((1 / (own + K) for own in of_one), Fraction(0)) for of_one in ranks]
    found = list[RankedVendor]()
    for one, own, score, drawn in zip(vendors, ranks, scores, _rank_intervals(vendors, metrics), strict=True):
        place, of_metrics = 1 + sum(other > score for other in scores), dict(zip(metrics, own, strict=True))
        found.append(replace(one, rank=place, score=score, ranks=of_metrics, tie=scores.count(score) > 1, **drawn))
    return tuple(sorted(found, key=lambda one: one.rank or 0))


def _metric_ranks(figures: NDArray[np.float64], metrics: Sequence[str]) -> NDArray[np.float64]:
    """Return the ranks in each metric; the last two axes of both arrays are the vendors and the metrics."""
    better = [METRICS[metric].more_is_better for metric in metrics]
    ranks = [average_ranks(figures[..., at], more_is_better=more) for at, more in enumerate(better)]
    return np.stack(ranks, axis=-1)


def average_ranks(values: NDArray[np.float64], *, more_is_better: bool) -> NDArray[np.float64]:
    """Return ranks from 1 along the last axis; equal values share the average of their places, and nan ranks last."""
    signed = values if more_is_better else -values
    goodness = np.nan_to_num(signed, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    one, other = goodness[..., :, None], goodness[..., None, :]
    return np.asarray((other > one).sum(axis=-1) + ((other == one).sum(axis=-1) + 1) / 2, dtype=np.float64)


@np.errstate(divide="ignore", invalid="ignore")
def _rank_intervals(vendors: Sequence[RankedVendor], metrics: Sequence[str]) -> list[dict[str, Any]]:
    """Return the places of each vendor in 95 % of resamples, and whom it ties with; nothing for a table.

    The same cases are drawn for all vendors of a model.
    """
    drawn = list[NDArray[np.float64]]()
    for one in vendors:
        if one.columns is None:
            return [{} for _ in vendors]
        columns = np.stack([column for metric in metrics for column in one.columns[metric]], axis=1)
        sums = CaseBootstrap(len(columns), RESAMPLES).sums(columns)
        drawn.append(sums[:, 0::2] / sums[:, 1::2])
    scores = (1 / (_metric_ranks(np.stack(drawn, axis=1), metrics) + K)).sum(axis=2)
    ahead = scores[:, :, None] > scores[:, None, :] + EPSILON
    low, high = np.quantile(1 + ahead.sum(axis=1), (0.025, 0.975), axis=0, method="inverted_cdf").astype(int).tolist()
    shares = ahead.mean(axis=0)
    alike = (np.maximum(shares, shares.T) < CONFIDENCE) & ~np.eye(len(vendors), dtype=bool)
    tied = [tuple(vendors[other].name for other in np.flatnonzero(own).tolist()) for own in alike]
    keys = ("rank_low", "rank_high", "tied_with")
    return [dict(zip(keys, own, strict=True)) for own in zip(low, high, tied, strict=True)]


def candidates(
    files: Sequence[Answers],
    baselines: Collection[str] = (),
    *,
    model: str | None = None,
    force: bool = False,
    panels: Mapping[str, Panel] | None = None,
) -> list[RankedVendor]:
    """Make one candidate per vendor and model. A vendor with missing cases will not be ranked.

    Args:
        baselines: names of vendors, one per model; empty to use the ones marked in their summaries.
        model: of all files; None for the model that the rows name.
        panels: vendor -> the panel's verdict on it, if known.
    """
    named = [replace(one, model=model or one.model) for one in files]
    if unnamed := [one.source for one in named if one.model is None]:
        raise UsageError(f"{unnamed[0]}: its rows do not agree on one model; name it with --model")
    listed = Counter(f"{one.source}: has results of {one.model} at {one.vendor}" for one in named)
    if twice := [name for name, count in listed.items() if count > 1]:
        raise UsageError(f"{twice[0]} twice; name each vendor with VENDOR=FILE")
    named = [*name_apart(named, within_models=True)]
    names, found = baselines or {one.vendor for one in named if one.is_of_baseline}, list[RankedVendor]()
    for name, own in group_by_key((one.model, one) for one in named).items():
        marked = [one for one in own if one.vendor in names]
        if len(marked) != 1:
            hint = f"name one of {', '.join(one.vendor for one in marked or own)} with --baseline"
            said = f"{name} has {len(marked) or 'no'} baselines, and F1 needs one; {hint}"
            raise UsageError(f"{said}, or give all files one name with --model if their models are the same")
        found += _of_model(own, marked[0], force=force, panels=panels or {})
    return found


def _of_model(
    files: Sequence[Answers], baseline: Answers, *, force: bool, panels: Mapping[str, Panel]
) -> Iterator[RankedVendor]:
    by_name, differ = all(one.names_cases for one in files), force or bool(panels)
    pairings = [pair(baseline, one, force=differ, by_name=by_name, may_lack=True) for one in files]
    complete = [found for found in pairings if force or not found.only_baseline]
    common = [case for case in complete[0].cases if all(case in found.cases for found in complete)]
    if not common:
        raise UsageError(f"{baseline.model}: its files have no case in common, so its vendors cannot be ranked")
    for one in pairings:
        lacking, vendor = 0 if force else len(one.only_baseline), one.vendor
        cases = list(one.cases) if lacking else common
        own = _measure(one, cases, CaseBootstrap(len(cases), RESAMPLES))
        if lacking:
            own = replace(own, incomplete=f"{vendor.source.file_name} lacks {lacking} of the baseline's rows")
        if not own.is_baseline:
            pairs, known = [one.cases[case] for case in cases], panels.get(vendor.vendor)
            own = replace(own, panel=known or judge_pairs(pairs, PanelOptions(prices=one.prices)))
        yield own


def _measure(pairing: Pairing, cases: Sequence[Case], bootstrap: CaseBootstrap) -> RankedVendor:
    vendor, is_baseline = pairing.vendor, pairing.vendor is pairing.baseline
    name = str(vendor.model), vendor.vendor
    reference, own = (SideRows.of([getattr(pairing.cases[case], side) for case in cases]) for side in SIDES)
    found, notes, excess = agreement(reference, own, delivered=True), vendor.notes, None
    columns = {"success_rate": own.answers, "f1": _f1(found), "schema_accuracy": own.fitting()}
    if is_baseline:
        known, _, itself = self_agreement(own)
        answered = (own.answers[0] > 0).astype(float)
        columns["f1"] = _f1(itself) if known.any() else (answered, answered)
        notes = (SELF_F1 if known.any() else ONE_TRIAL,) * bool(answered.any()) + notes
    elif len({share for share in reference.shares(delivered=False) if not math.isnan(share)}) > 1:
        # F1 is meaningless if the baseline makes the same decision in all cases.
        excess = bootstrap.estimate(excess_f1, *found, level=0.9)
    columns |= {metric: own.sums(own.figure(figure)) for metric, figure in FIGURES.items()}
    counts = {metric: int(whole.sum()) for metric, (_, whole) in columns.items()} | {"f1": count_cases(found)}
    metrics = {metric: bootstrap.estimate(truediv, *pair, n=counts[metric]) for metric, pair in columns.items()}
    broken = sum(row.outcome == "protocol_error" for row in own.rows) / len(own.rows)
    answers, price = own.answers[0].sum(), cost(own.rows, vendor.prices)
    per_1000 = 1000 * price["total"] / answers if price and answers else None
    return RankedVendor(*name, metrics, is_baseline, broken, excess, columns, per_1000, notes=notes)


def _f1(found: Column) -> tuple[Column, Column]:
    tp, fp, fn, _ = found
    return 2 * tp, 2 * tp + fp + fn


def read_table(path: Path, needed: Collection[str] = METRICS) -> list[RankedVendor]:
    """Read a CSV file with the columns model, vendor and the six metrics; other columns are ignored.

    A column of a metric that is not needed may be missing. An empty cell is a missing figure, as is a 0 among times,
    rates of tokens and tokens.
    """
    wanted, found = ["model", "vendor", *(metric for metric in METRICS if metric in needed)], dict[Name, RankedVendor]()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, skipinitialspace=True)
            names = {name.strip() for name in reader.fieldnames or ()}
            if absent := ", ".join(name for name in wanted if name not in names):
                hint = f"a table needs the columns {','.join(wanted)}"
                raise DataError(f"{path}, line 1: missing columns: {absent}; {hint}")
            for row in reader:
                one = _parse_cells(f"{path}, line {reader.line_num}", row)
                if one.name in found:
                    raise DataError(f"{path}: {one.model} at {one.vendor} is listed twice")
                found[one.name] = one
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    if not found:
        raise DataError(f"{path}: contains no rows")
    return list(found.values())


def _parse_cells(where: str, row: Mapping[str | None, Any]) -> RankedVendor:
    if any(row.get(None, ())):
        # With a comma in a number, say, figures would end up in the wrong columns.
        raise DataError(f"{where}: more cells than the table has columns")
    cells = {name.strip(): (text or "").strip() for name, text in row.items() if isinstance(name, str)}
    if empty := [name for name in ("model", "vendor") if not cells[name]]:
        raise DataError(f"{where}: {empty[0]} is empty")
    metrics = {metric: _estimate(where, metric, cells.get(metric, "")) for metric in METRICS}
    return RankedVendor(cells["model"], cells["vendor"], metrics)


def _estimate(where: str, metric: str, given: Any) -> Estimate:
    """Return a figure; empty texts, and a 0 that other tools write for unknown, have no value."""
    is_share = METRICS[metric].is_share
    try:
        value = math.nan if isinstance(given, bool) else float("0" if given == "" else given)
    except (TypeError, ValueError):
        value = math.nan
    if not (0 <= value < math.inf) or (is_share and value > 1):
        wanted = "a number from 0 to 1" if is_share else "a number of at least 0"
        raise DataError(f"{where}: {metric} is {given!r}, but must be {wanted}")
    return Estimate(None if given == "" or (value == 0 and not is_share) else value)


def is_rank_folder(path: Path) -> bool:
    """Return whether a folder has the files that Agent Vendor Verifier writes."""
    return (path / f"{METRICS['f1'].file}.json").is_file()


def write_rank_files(ranking: Ranking, folder: Path) -> None:
    """Write the files without unknown or unranked figures, which the original writes as 0."""
    rows = [row for found in ranking.models.values() for row in found.rows]
    files = {about.file: [(row, row.value(metric)) for row in rows] for metric, about in METRICS.items()}
    files["irf_score"] = [(row, row.irf) for row in rows]
    files["irf_score_global"] = [(row, row.irf) for row in ranking.overall.rows]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, values in files.items():
            known = group_by_key((row.model, (row.vendor, value)) for row, value in values if value is not None)
            content = {model: dict(own) for model, own in known.items()}
            text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2)
            replace_file(folder / f"{name}.json", f"{text}\n".encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error


def read_rank_files(folder: Path) -> list[RankedVendor]:
    """Read the figures of vendors; a 0 that cannot be one is a missing figure."""
    found = dict[Name, dict[str, Estimate]]()
    for metric, about in METRICS.items():
        path = folder / f"{about.file}.json"
        try:
            content: Any = parse_json(path.read_bytes()) if path.exists() else {}
            figures = [((model, name), value) for model, own in content.items() for name, value in own.items()]
        except (OSError, ValueError, AttributeError) as error:
            raise DataError(f"{path}: not an object of models, each with a number for each vendor: {error}") from error
        for name, value in figures:
            found.setdefault(name, dict.fromkeys(METRICS, Estimate(None)))[metric] = _estimate(str(path), metric, value)
    return [RankedVendor(*name, metrics) for name, metrics in found.items()]


def compare_and_rank(sources: Mapping[Name, VendorRows], baselines: Mapping[str, str]) -> dict[str, Any]:
    """Compare vendors with their models' baselines and rank them, as far as the files allow; notes name the rest.

    Vendors are compared over the cases that both files have, even if their drivers force different settings; the
    comparisons name the rows that were skipped and the settings that differ.

    Return ``models``, each with its ``baseline``, ``comparisons`` and ``notes``, and the ``ranking``, None if no vendor
    could be compared.
    """
    models, ranked = list[dict[str, Any]](), list[RankedVendor]()
    for model, own in group_by_key((name[0], (name, rows)) for name, rows in sources.items()).items():
        notes, compared, vendors = list[str](), list[dict[str, Any]](), list[Answers]()
        baseline = baselines.get(model)
        others = {name: rows for name, rows in own if name[1] != baseline}
        if len(others) == len(own):
            notes.append(NO_BASELINE)
        elif not others:
            notes.append("the baseline is the only vendor, so there is nothing to compare")
        elif (found := next(_read({name: rows for name, rows in own if name not in others}, notes), None)) is None:
            notes.append(f"the baseline, {baseline}, has no rows, so vendors were not compared")
        else:
            compared = compare(found, _read(others, notes, found, vendors), force=True)
            panels = {one["vendor"]["vendor"]: one["panel"] for one in compared}
            ranked += candidates([found, *vendors], [found.vendor], panels=panels)
        models.append({"model": model, "baseline": baseline, "comparisons": compared, "notes": notes})
    return {"models": models, "ranking": rank(ranked) if ranked else None}


def _read(
    sources: Mapping[Name, VendorRows],
    notes: list[str],
    baseline: Answers | None = None,
    read: list[Answers] | None = None,
) -> Iterator[Answers]:
    """Yield the answers of one vendor at a time, to save memory; a note names vendors without comparable answers.

    Afterwards, each is added to ``read`` without the parts that only comparisons need.
    """
    for (model, vendor), rows in sources.items():
        try:
            found = replace(read_one(rows), vendor=vendor, model=model)
            if baseline is not None:
                pair(baseline, found, force=True)
        except (DataError, UsageError) as error:
            notes.append(f"{vendor} is left out: {' '.join(str(error).split())}")
            continue
        yield found
        if read is not None:
            read.append(replace(found, rows=tuple(replace(row, measured=None) for row in found.rows)))
        # Before the next one is read.
        del found
