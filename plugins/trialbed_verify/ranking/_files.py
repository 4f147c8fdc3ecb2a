"""Reads results and makes candidates of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import truediv

import numpy as np

from trialbed.errors import UsageError
from trialbed.statistics import RESAMPLES, CaseBootstrap, Estimate
from trialbed_verify.comparison._compare import judge_pairs
from trialbed_verify.comparison._consistency import self_agreement
from trialbed_verify.comparison._decisions import Agreement, Column, Decisions, agreement, decisions, excess_f1
from trialbed_verify.comparison._figures import response_verdicts, sums_and_counts, values_of
from trialbed_verify.comparison._pairing import Pairing, pair
from trialbed_verify.comparison._results import Case, Results, Trials, read_results
from trialbed_verify.panel import Panel
from trialbed_verify.ranking._candidates import VendorMetrics
from trialbed_verify.vendor_rows import VendorRows

FIGURES = {"tps": "tps", "ttft_ms": "ttft_ms", "avg_token": "total_tokens"}
"""Metric -> the figure of result rows of which it is the mean."""

ONE_TRIAL = "its F1 is 1 by convention, as its self-consistency is unknown with one trial per case"

SELF_F1 = "its F1 is its self-F1, the agreement of its own trials with each other"


def read_named(name: str, source: VendorRows) -> list[Results]:
    """Read results, whose vendor has this name if it is not empty.

    Raises:
        UsageError: a name is given to several vendors.
        DataError: the rows cannot be read, or are no results.
    """
    found = read_results(source)
    if not name:
        return found
    if len(found) > 1:
        raise UsageError(
            f"{name}={source}: the file contains {len(found)} vendors or configurations, which cannot share one name"
        )
    return [replace(found[0], vendor=name)]


def marked_baselines(files: Iterable[Results]) -> tuple[str, ...]:
    """Return the vendors that are marked as their model's baseline, as by the summaries next to their results."""
    return tuple(dict.fromkeys(found.vendor for found in files if found.is_of_baseline))


@dataclass(frozen=True)
class FileOptions:
    """Options for reading result files as candidates.

    Attributes:
        baselines: names of vendors, one per model.
        model: the model of all files; None for the model that the rows name.
        force: rank by the common cases of files that differ.
        resamples: of the bootstrap.
        panels: vendor -> the panel's verdict on it, where it is known.
    """

    baselines: tuple[str, ...] = ()
    model: str | None = None
    force: bool = False
    resamples: int = RESAMPLES
    panels: Mapping[str, Panel] = field(default_factory=dict)


def candidates(files: Sequence[Results], options: FileOptions) -> list[VendorMetrics]:
    """Make one candidate per vendor and model. A vendor whose file lacks cases becomes one that is not ranked.

    Raises:
        UsageError: a model does not have exactly one baseline, a vendor is listed twice, or the requests of a file
            differ from the baseline's.
    """
    named = [replace(one, model=options.model) if options.model else one for one in files]
    _check_models(named)
    found = []
    for model in dict.fromkeys(one.model for one in named):
        own = [one for one in named if one.model == model]
        found += _of_model(str(model), own, _baseline(str(model), own, options.baselines), options)
    return found


def _check_models(files: Sequence[Results]) -> None:
    for one in files:
        if one.model is None:
            raise UsageError(f"{one.source}: its rows do not agree on one model; name it with --model")
    unnamed = {one.model for one in files if one.rows[0].model is None}
    if len(unnamed) > 1:
        raise UsageError(
            f"the files request different models ({', '.join(sorted(map(str, unnamed)))}); "
            "if these are names of the same model, give it one name with --model"
        )
    seen: dict[tuple[str | None, str], Results] = {}
    for one in files:
        other = seen.setdefault((one.model, one.vendor), one)
        if other is not one:
            raise UsageError(
                f"{other.source} and {one.source} both have results of {one.model} at {one.vendor}; name each "
                "vendor with VENDOR=FILE"
            )


def _baseline(model: str, files: Sequence[Results], names: Sequence[str]) -> Results:
    found = [one for one in files if one.vendor in names]
    vendors = ", ".join(one.vendor for one in files)
    if not found:
        raise UsageError(f"{model} has no baseline, which F1 needs; name one of {vendors} with --baseline")
    if len(found) > 1:
        raise UsageError(f"{model} has {len(found)} baselines: {', '.join(one.vendor for one in found)}; name one")
    return found[0]


def _of_model(model: str, files: Sequence[Results], baseline: Results, options: FileOptions) -> list[VendorMetrics]:
    by_name = all(one.names_cases for one in files)
    pairings = [pair(baseline, one, force=options.force, by_name=by_name, may_lack=True) for one in files]
    whole = [options.force or not found.only_baseline for found in pairings]
    complete = [found for found, is_whole in zip(pairings, whole, strict=True) if is_whole]
    common = [case for case in complete[0].cases if all(case in found.cases for found in complete)]
    if not common:
        raise UsageError(f"{model}: its files have no case in common, so its vendors cannot be ranked")
    return [
        _candidate(found, model, common if is_whole else list(found.cases), options)
        for found, is_whole in zip(pairings, whole, strict=True)
    ]


def _candidate(pairing: Pairing, model: str, common: list[Case], options: FileOptions) -> VendorMetrics:
    is_baseline = pairing.vendor is pairing.baseline
    bootstrap = CaseBootstrap(len(common), options.resamples)
    ours, theirs = ([getattr(pairing.cases[case], side) for case in common] for side in ("baseline", "vendor"))
    reference, own = decisions(ours), decisions(theirs)
    found = agreement(reference, own, delivered=True)
    columns = {
        "success_rate": (own.answers, own.trials),
        "f1": _itself(own) if is_baseline else _f1(found),
        "schema_accuracy": sums_and_counts(response_verdicts(theirs)),
        **{metric: sums_and_counts([values_of(figure, rows) for rows in theirs]) for metric, figure in FIGURES.items()},
    }
    counts = {metric: int(whole.sum()) for metric, (_, whole) in columns.items()} | {"f1": found.cases}
    metrics = {metric: bootstrap.estimate(truediv, *pair, n=counts[metric]) for metric, pair in columns.items()}
    return VendorMetrics(
        model=model,
        vendor=pairing.vendor.vendor,
        metrics=metrics,
        is_baseline=is_baseline,
        protocol_errors=_protocol_errors(theirs),
        excess=None if is_baseline else _excess(reference, found, bootstrap),
        columns=columns,
        incomplete="" if options.force else _incomplete(pairing),
        notes=_notes(own, is_baseline=is_baseline) + pairing.vendor.notes,
        panel=None if is_baseline else _panel(pairing, common, options),
    )


def _panel(pairing: Pairing, common: list[Case], options: FileOptions) -> Panel:
    known = options.panels.get(pairing.vendor.vendor)
    return known or judge_pairs([pairing.cases[case] for case in common], {})


def _incomplete(pairing: Pairing) -> str:
    lacking = len(pairing.only_baseline)
    return f"{pairing.vendor.source.file_name} lacks {lacking} of the baseline's rows" if lacking else ""


def _f1(found: Agreement) -> tuple[Column, Column]:
    return 2 * found.tp, 2 * found.tp + found.fp + found.fn


def _itself(own: Decisions) -> tuple[Column, Column]:
    """Return the baseline's self-F1; with one trial per case, 1 by convention if it answered at all."""
    itself = self_agreement(own)
    ones = (np.asarray(own.answers) > 0).astype(float)
    return _f1(itself.agreement) if itself.known.any() else (ones, ones)


def _excess(reference: Decisions, found: Agreement, bootstrap: CaseBootstrap) -> Estimate | None:
    """Return F1 above chance; None if the baseline decides alike in all cases, which makes F1 meaningless."""
    shares = reference.shares(delivered=False)
    known = shares[np.isfinite(shares)]
    if not len(known) or (known == known[0]).all():
        return None
    return bootstrap.estimate(excess_f1, *found.table, level=0.9)


def _protocol_errors(trials: list[Trials]) -> float:
    ended = [row.outcome for rows in trials for row in rows.values()]
    return ended.count("protocol_error") / len(ended)


def _notes(own: Decisions, *, is_baseline: bool) -> tuple[str, ...]:
    if not is_baseline or not np.any(own.answers):
        return ()
    return (SELF_F1 if self_agreement(own).known.any() else ONE_TRIAL,)
