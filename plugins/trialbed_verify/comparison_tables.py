"""Comparisons and ranks of vendors as tables of text, as records, and as tests of JUnit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from trialbed.texts import group_by_key, number_of
from trialbed.views import UNKNOWN, Table, TableRow, TestCase, counts, estimate, number
from trialbed_verify.compare import FIGURES, OTHER_MODELS, SIDES, VendorComparison
from trialbed_verify.panel import GateResult, Panel, PanelGate, reason_in_words
from trialbed_verify.ranking import METRICS, ModelComparison, RankedVendor, Ranking, Standings, VerifiedVendors
from trialbed_verify.summary import QUANTILES
from trialbed_verify.tables import Document, junit_case

WORDS = {
    "total_tokens": "tokens",
    "completion_tokens": "tokens received",
    "ttft_ms": "TTFT, ms",
    "tps": "tokens/s",
    "duration_ms": "duration, ms",
    "trigger_rate": "answers with calls",
    "success_rate": "success",
    "schema_accuracy": "schema, per response",
}
"""Figures and the metrics of tests -> their names in tables."""

DIGITS = {"total_tokens": 1, "completion_tokens": 1, "ttft_ms": 1, "tps": 2, "duration_ms": 1}

COUNTS = ("cases", "TP", "FP", "FN", "TN")
SIMILARITY = {"precision": "precision", "recall": "recall", "f1": "F1", "chance_f1": "F1 of chance", "kappa": "kappa"}
SCOPES = ("answered", "delivered")
UNDECIDED = "not decided by one trial"
CONCLUSIONS = {
    "different": "{vendor} differs from {baseline}",
    "equivalent": "{vendor} is equivalent to {baseline}",
    "inconclusive": "{vendor} is neither shown to equal {baseline} nor to differ",
    UNDECIDED: "one trial does not decide between {vendor} and {baseline}",
}


def comparison_tables(
    comparisons: Sequence[VendorComparison], named: Callable[[PanelGate], str] | None = None
) -> list[Table]:
    """Return for each vendor the verdict, its rates and the baseline's, figures, and tests.

    Args:
        named: names a gate of the panel; None for the names that options take.
    """
    return [table for one in comparisons for table in _tables(one, named)]


def comparison_records(comparisons: Sequence[VendorComparison]) -> list[dict[str, Any]]:
    """Return one record per vendor and figure."""
    return [
        {"vendor": one.vendor, "baseline": one.baseline, **record} for one in comparisons for record in _records(one)
    ]


def _tables(found: VendorComparison, named: Callable[[PanelGate], str] | None) -> Iterator[Table]:
    one, vendor, baseline = found.document, found.vendor, found.baseline
    yield panel_table(found.panel, vendor, baseline, named)
    notes = [*_pairing_notes(one), *_decision_notes(one)]
    yield Table.of("Decisions", ("", *SCOPES), _similarity(one), notes)
    yield Table.of("Rates", ("", baseline, vendor), _rates(one), _failures(one))
    yield Table.of("Tokens and times", ("", baseline, vendor, "paired difference"), _figures(one))
    rows = [
        (WORDS[test["metric"]], test["method"], str(test["cases"]), _p_value(test["p"]), _p_value(test["p_holm"]))
        for test in one["tests"]
    ]
    if rows:
        yield Table.of("Tests", ("", "method", "cases", "p", "p corrected (Holm)"), rows)


def _pairing_notes(one: Document) -> Iterator[str]:
    pairing, rows = one["pairing"], one["matched_success"] + one["skipped_failures"]
    yield f"{number_of(pairing['cases'], 'case')}, paired by {pairing['by']}; {number_of(rows, 'pair')} of rows."
    if left_out := pairing["only_baseline"] + pairing["only_vendor"]:
        yield f"Left out because only one file has them: {number_of(left_out, 'row')}."
    if pairing["asked_otherwise"]:
        yield f"Cases whose requests differ: {pairing['asked_otherwise']}."
    for text, count in pairing["settings"].items():
        yield f"Settings of {number_of(count, 'request')} differ: {text}."
    yield from (f"{note}." for note in one["notes"])


def _similarity(one: Document) -> Iterator[tuple[str, ...]]:
    scopes = [one["similarity"][scope] for scope in SCOPES]
    yield from ((name, *(f"{scope[name]:g}" for scope in scopes)) for name in COUNTS)
    yield from ((label, *(estimate(scope[name]) for scope in scopes)) for name, label in SIMILARITY.items())
    if stable := one["stable_subset"]:
        yield "F1, stable cases", *(f"{estimate(stable[scope]['f1'])} n={stable[scope]['cases']}" for scope in SCOPES)


def _decision_notes(one: Document) -> Iterator[str]:
    itself = one["self_consistency"]["baseline"]
    if itself is None:
        yield "The baseline has one trial per case, so its self-consistency is unknown."
    else:
        yield (
            f"The baseline compared with itself ({number_of(itself['trials'], 'trial')}): "
            f"F1 {estimate(itself['self_f1'])}, flip rate {estimate(itself['flip_rate'])}, "
            f"{itself['stable_cases']} of {itself['cases']} cases stable."
        )
    yield (
        "Decisions are whether tools are called, and nothing else. answered: cases that both answered. delivered: a "
        "failure counts as a missed call."
    )
    k2, schema = one["tool_call_trigger_similarity"], one["tool_call_schema_accuracy"]["schema_accuracy"]
    yield (
        f"K2-style, of {number_of(one['matched_success'], 'pair')} without failures: TP {k2['TP']}, FP {k2['FP']}, "
        f"FN {k2['FN']}, TN {k2['TN']}, precision {k2['precision']}, recall {k2['recall']}, F1 {k2['f1']}, "
        f"schema accuracy {schema}."
    )


def _rates(one: Document) -> Iterator[tuple[str, ...]]:
    success, schema = one["success_rate"], one["schema_accuracy"]
    yield "success", *(estimate(success[side], with_n=True) for side in SIDES)
    for unit in ("response", "call"):
        yield f"schema, per {unit}", *(estimate(schema[side][f"per_{unit}"], with_n=True) for side in SIDES)


def _failures(one: Document) -> Iterator[str]:
    for side in SIDES:
        outcomes = one["outcomes"][side]
        said = {"failed": outcomes["problems"], "ended otherwise": outcomes["other_finish_reasons"]}
        said["calls were wrong"] = one["schema_accuracy"][side]["reasons"]
        yield from (f"{one[side]['vendor']} {words}: {counts(found)}." for words, found in said.items() if found)


def _figures(one: Document) -> Iterator[tuple[str, ...]]:
    for figure in FIGURES:
        own, digits, label = one["figures"][figure], DIGITS[figure], WORDS[figure]
        sides = [own[side] for side in SIDES]
        if not any(side["n"] for side in sides):
            yield label, UNKNOWN, UNKNOWN, UNKNOWN
            continue
        cells = [
            estimate(side["mean"], digits) + f", {side['missing']} missing" * bool(side["missing"]) for side in sides
        ]
        yield f"{label}, mean", *cells, estimate(own["difference"], digits)
        spread = ["/".join(number(side[name]["value"], digits) for name in QUANTILES) for side in sides]
        yield f"{label}, {'/'.join(QUANTILES)}", *spread, ""


def _p_value(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"


def _records(found: VendorComparison) -> Iterator[dict[str, Any]]:
    one = found.document
    yield from panel_records(found.panel)
    for scope in SCOPES:
        yield from ({"side": scope, "figure": name, **one["similarity"][scope][name]} for name in SIMILARITY)
    if itself := one["self_consistency"]["baseline"]:
        yield from ({"side": "baseline", "figure": name, **itself[name]} for name in ("self_f1", "flip_rate"))
    for side in SIDES:
        schema = one["schema_accuracy"][side]
        figures = {"success_rate": one["success_rate"][side]}
        figures |= {f"schema_accuracy_{unit}": schema[unit] for unit in ("per_response", "per_call") if schema[unit]}
        for figure in FIGURES:
            own = one["figures"][figure][side]
            figures[f"{figure}_mean"] = own["mean"]
            figures |= {f"{figure}_{name}": own[name] | {"n": own["n"]} for name in QUANTILES}
        yield from ({"side": side, "figure": name, **value} for name, value in figures.items())


def conclusion(found: VendorComparison) -> str:
    """Return the verdict on a vendor in words, its meaning for callers, and the cases that would settle an open one."""
    panel = found.panel
    verdict = CONCLUSIONS[panel.verdict].format(vendor=found.vendor, baseline=found.baseline)
    if panel.reason.startswith(OTHER_MODELS):
        verdict += f", and {panel.reason.partition('; ')[0]}"
    damage, apart, rest = reason_in_words(panel).partition("; ")
    if panel.needed:
        rest, apart = f"about {panel.needed:,} cases would settle it", "; "
    return f"{verdict}: {damage}{apart}{rest}."


PANEL_COLUMNS = ("gate", "finding", "baseline", "vendor", "excess", "margin", "distance", "margin", "p (Holm)")

PANEL_DIGITS = 3

FLOOR = 1.5
"""Deals as unusual as the answers, with the answers themselves, below which there is none but them."""


def panel_table(panel: Panel, vendor: str, baseline: str, named: Callable[[PanelGate], str] | None = None) -> Table:
    """Return the verdict and every gate that applies, with an example of each difference in the notes.

    Gates whose figures are all the same share a row.

    Args:
        named: names a gate; None for the names that options take.
    """
    # Gates with the same figures share a row, as most have the same where nothing differs.
    cells = [(one, tuple(_cells(one, panel.deals))) for one in panel.applicable]
    labels = group_by_key(
        ((texts, one.finding == "different"), named(one.gate) if named else one.gate.label) for one, texts in cells
    )
    rows = [TableRow(", ".join(names), texts, alarming) for (texts, alarming), names in labels.items()]
    title = f"{vendor} compared with {baseline}: {panel.verdict}"
    notes = list(_panel_notes(panel, vendor, baseline))
    brief = [TableRow(row.label, (row.cells[0], *row.cells[3:5]), row.alarming) for row in rows]
    narrow = Table(title, ["gate", "finding", "excess", "margin"], brief, notes, legend=[LEGEND])
    return Table(title, list(PANEL_COLUMNS), rows, notes, narrow=narrow, legend=[LEGEND])


def panel_records(panel: Panel) -> Iterator[dict[str, Any]]:
    """Yield one record per gate and figure."""
    for one in panel.gates:
        for name, mean in (("excess", one.excess), ("distance", one.distance)):
            if mean is not None:
                yield {"side": one.finding, "figure": f"panel_{one.gate.name}_{name}", **mean.as_json()}


def _cells(one: GateResult, deals: int) -> Iterator[str]:
    yield from (one.finding, number(one.baseline, PANEL_DIGITS), number(one.vendor, PANEL_DIGITS))
    for mean, margin in ((one.excess, one.gate.margin), (one.distance, one.gate.distance_margin)):
        yield UNKNOWN if mean is None else f"{mean.value:+.3f} [{mean.low:.3f}, {mean.high:.3f}]"
        yield UNKNOWN if margin is None else f"{margin:g}"
    # Where no deal was as unusual as the answers, the p-value is the most that it can be.
    tested = one.finding != "not judged" or one.differing is not None
    yield (f"≤ {one.p_holm:.2g}" if one.p * (deals + 1) < FLOOR else f"{one.p_holm:.3f}") if tested else UNKNOWN


def brief_reasons(panel: Panel) -> Iterator[str]:
    """Yield in words the reasons of the verdict that its conclusion does not give."""
    rest = reason_in_words(panel).partition("; ")[2] if panel.needed else ""
    if rest and not rest.startswith("about "):
        yield _as_sentence(rest)
    yield from map(_as_sentence, panel.remarks)


def _as_sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _panel_notes(panel: Panel, vendor: str, baseline: str) -> Iterator[str]:
    yield from map(_as_sentence, (panel.reason, *panel.remarks))
    for one in panel.gates:
        if one.finding == "different":
            yield f"{one.gate.label}: {one.gate.meaning} differ; {one.reason}."
            if found := one.example:
                where = f"line {found.line}" if found.line else "for example"
                yield from (
                    f"  {where}, {name}: {said}" for name, said in ((baseline, found.baseline), (vendor, found.vendor))
                )
    ours, theirs = panel.trials
    whole = UNKNOWN if panel.whole is None else f"{panel.whole:.2g}"
    yield (
        f"{panel.cases} cases with {ours:.3g} and {theirs:.3g} trials that count; all gates "
        f"together: p = {whole} (up to {panel.deals:,} permutations of trials within cases)."
    )


LEGEND = (
    "baseline: how far its trials are from each other; vendor: how far the vendor's are from them; for faults, the "
    "share of each. excess: the second less the first; distance: between both distributions. Both are 0 for an "
    "identical vendor, whatever the model's own spread. [low, high]: one-sided 95 % bounds, which decide. breaking: "
    "answers that would break a caller, and that the other trials of the baseline never give. At "
    "most so many of 1,000 answers break a caller: the upper bound of its excess, and beyond it those that are too "
    "rare to have been seen."
)


COLUMNS = ("vendor", "verdict", "F1, as delivered", "F1, where both answered", "cases")


def verified_tables(found: VerifiedVendors) -> list[Table]:
    """Return a table of comparisons for each model, and those of the ranking."""
    tables = [Table.of(one.title, COLUMNS, map(_row, one.comparisons), _verified_notes(one)) for one in found.models]
    return tables + (ranking_tables(found.ranking, verdicts=False) if found.ranking else [])


def _row(found: VendorComparison) -> tuple[str, ...]:
    scopes = [estimate(found.document["similarity"][scope]["f1"]) for scope in reversed(SCOPES)]
    return found.vendor, found.panel.verdict, *scopes, str(found.document["pairing"]["cases"])


def _verified_notes(found: ModelComparison) -> Iterator[str]:
    for reason, vendors in group_by_key((one.panel.reason, one.vendor) for one in found.comparisons).items():
        yield f"{_some(vendors)}: {reason}."
    for one in found.comparisons:
        pairing = one.document["pairing"]
        if left_out := pairing["only_baseline"] + pairing["only_vendor"]:
            verb = "is" if left_out == 1 else "are"
            yield f"{one.vendor}: {number_of(left_out, 'row')} {verb} left out because only one file has them."
        for text, count in pairing["settings"].items():
            yield f"{one.vendor}: settings of {number_of(count, 'request')} differ: {text}."
    yield from (f"{note}." for note in found.notes)


def _some(names: Sequence[str]) -> str:
    """Name all, or the first ones and the number of the others if there are many."""
    others = f" and {len(names) - NAMED} others" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:NAMED] if others else names) + others


def comparison_tests(found: VendorComparison) -> Iterator[TestCase]:
    """Yield a test per gate of the panel that applies, and one of the verdict.

    They fail if the vendor differs, and are skipped if one trial per case does not decide.
    """
    name, panel = f"{found.vendor} against {found.baseline}", found.panel
    for one in panel.applicable:
        yield _test(name, one.gate.label, one.finding, f"{one.gate.meaning}: {one.reason}")
    yield _test(name, "verdict", "not judged" if panel.verdict == UNDECIDED else panel.finding, panel.reason)


def _test(classname: str, name: str, finding: str, message: str) -> TestCase:
    if finding == "not judged":
        return junit_case(classname, name, "not-judged", message, "skipped")
    return junit_case(classname, name, "different", message if finding == "different" else "")


MOST_NAMES, NAMED = 5, 3
"""Vendors up to which notes name all, and those that they name of more."""

RANGE = "rank 95 %"
RANKS = ("rank", RANGE, "IRF")
"""The columns of a vendor's place."""

RANK_DIGITS = {"tps": 2, "ttft_ms": 1, "avg_token": 1}


def ranking_tables(ranking: Ranking, *, reasons: bool = True, verdicts: bool = True) -> list[Table]:
    """Return a table per model, and one of all if there are several; the first with ranks explains their score.

    Args:
        reasons: say why vendors are not ranked or placed last, which pages say already.
        verdicts: say why vendors differ from the baseline; tables of their comparisons say so already.
    """
    explained = next((model for model, found in ranking.models.items() if found.ranked), None)
    tables = [
        _rank_table(model, found, ranking, explained=model == explained, reasons=reasons, verdicts=verdicts)
        for model, found in ranking.models.items()
    ]
    if len(tables) > 1:
        tables.append(_rank_table("all models", ranking.overall, ranking, of_all=True))
    if ranking.notes:
        tables.append(Table("Note", notes=[f"{note}." for note in ranking.notes]))
    return tables


COST = "cost of 1,000"
"""The column of what 1,000 answers cost at the prices of the configuration, by which no vendor is ranked."""

EXPLAINED = (
    "IRF, inverse rank fusion, orders the vendors: the sum of 1 / (rank + {k}) over the vendor's ranks in each metric; "
    "more is better."
)


UNSETTLED = "neither is ahead in 95 % of resamples; where they are equal, both have the better rank"

SEVERAL = {
    "its decisions are": "their decisions are",
    "of its answers": "of their answers",
    "it differs in": "they differ in",
}
"""Words about one vendor, and those about several."""


def rank_sentence(model: str, found: Standings) -> str:
    """Say who leads, whether that is shown, and who is placed last or not ranked, in one sentence."""
    said = []
    if found.ranked:
        first = found.ranked[0]
        leading = [row for row in found.ranked if row.rank == first.rank] if first.tie else [first]
        leads = " and ".join(_name(row, of_all=False) for row in leading)
        behind = [row for row in found.ranked if row not in leading and row.name in (first.tied_with or ())]
        tied = " and ".join(_name(row, of_all=False) for row in behind)
        if first.tie:
            ahead = f", and are not shown to be ahead of {tied}" if tied else ""
            said.append(f"{leads} share the first rank, as their scores are equal{ahead}")
        else:
            said.append(f"{leads} leads, but is not shown to be ahead of {tied}" if tied else f"{leads} ranks first")
    return f"{model}: {'; '.join([*said, *_unranked(found, of_all=False)])}."


def _unranked(found: Standings, *, of_all: bool) -> Iterator[str]:
    for rows, words in ((found.behind, "placed last"), (found.not_ranked, "not ranked")):
        why = [(_name(row, of_all=of_all), "; ".join(row.reasons)) for row in rows]
        yield from (f"{names} {verb} {words}: {reason}" for names, verb, reason in _by_text(why))


def ranking_records(ranking: Ranking) -> list[dict[str, Any]]:
    """Return one record per model and vendor, with the places in its model and among all."""
    overall = {row.name: row for row in ranking.overall.rows}
    return [_rank_record(row, overall[row.name]) for found in ranking.models.values() for row in found.rows]


def _rank_table(
    title: str,
    found: Standings,
    ranking: Ranking,
    *,
    explained: bool = False,
    of_all: bool = False,
    reasons: bool = False,
    verdicts: bool = False,
) -> Table:
    metrics, intervals = ranking.metrics, ranking.resamples is not None
    columns = ["vendor", *(name for name in RANKS if intervals or name != RANGE)]
    columns += [*(METRICS[metric].label for metric in metrics), COST]
    rows = [_rank_cells(row, metrics, intervals=intervals, of_all=of_all) for row in found.rows]
    count = "six metrics" if len(metrics) == len(METRICS) else f"{len(metrics)} of six metrics"
    heading = f"{title}: ranked over {count}" if found.ranked else f"{title}: no vendor is ranked"
    notes = list(_rank_notes(found, metrics, of_all=of_all, reasons=reasons, verdicts=verdicts))
    if explained:
        notes.insert(0, EXPLAINED.format(k=ranking.k))
    legend = [f"{METRICS[metric].label}: {METRICS[metric].meaning}." for metric in metrics]
    table = Table.of(heading, columns, rows, notes, legend)
    empty = [name for name, *cells in zip(columns, *table.lines, strict=True) if {*cells} == {UNKNOWN}]
    return table.without(*(name for name in empty if name in (*RANKS, COST)))


def _rank_cells(row: RankedVendor, metrics: Sequence[str], *, intervals: bool, of_all: bool) -> list[str]:
    # Behind the name of a vendor that is shown to differ from the baseline, whatever its rank.
    mark = " (different)" if row.is_different else ""
    cells = [_starred_name(row, of_all=of_all) + mark, _place(row)]
    if intervals:
        cells.append(UNKNOWN if row.rank_low is None else f"{row.rank_low}-{row.rank_high}")
    cells.append(UNKNOWN if row.score is None else number(float(row.score)))
    cells += [number(row.metrics[name].value, RANK_DIGITS.get(name, 4)) for name in metrics]
    return [*cells, number(row.cost, 4)]


def _place(row: RankedVendor) -> str:
    if row.rank is None:
        return UNKNOWN
    return f"{row.rank}{' tie' * bool(row.tie)}{' last' * (row.status == 'behind')}"


def _name(row: RankedVendor, *, of_all: bool) -> str:
    model, vendor = row.name
    return f"{vendor} ({model})" if of_all else vendor


def _starred_name(row: RankedVendor, *, of_all: bool) -> str:
    return _name(row, of_all=of_all) + "*" * row.is_baseline


def _rank_notes(
    found: Standings, metrics: Sequence[str], *, of_all: bool, reasons: bool, verdicts: bool
) -> Iterator[str]:
    yield from _ties(found.ranked, of_all=of_all)
    yield from _shared_ranks(found.ranked, metrics, of_all=of_all)
    if reasons:
        yield from (f"{text}." for text in _unranked(found, of_all=of_all))
    if verdicts:
        panels = [(_name(row, of_all=of_all), row.panel.reason) for row in found.rows if row.panel and row.is_different]
        for names, verb, reason in _by_text(panels):
            yield f"{names} {verb} not the baseline's equal{'s' * (verb == 'are')}: {reason}."
    starred = [(_starred_name(row, of_all=of_all), note) for row in found.rows for note in row.notes]
    yield from (f"{names}: {note}." for names, _, note in _by_text(starred))


def _by_text(found: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield each text once: the names that it is true of, the verb for as many, and the text."""
    for text, names in group_by_key((text, name) for name, text in found).items():
        listed = (
            _some(names) if len(names) > MOST_NAMES else " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        )
        if len(names) > 1:
            for one, several in SEVERAL.items():
                text = text.replace(one, several)
        yield listed, "is" if len(names) == 1 else "are", text


def _ties(ranked: Sequence[RankedVendor], *, of_all: bool) -> Iterator[str]:
    """Yield a note for vendors with equal scores, or whose order the data do not settle."""
    for place, row in enumerate(ranked, 1):
        others = [_name(other, of_all=of_all) for other in ranked[place:] if other.name in (row.tied_with or ())]
        if others:
            yield f"{_name(row, of_all=of_all)} ties with {_some(others)}: {UNSETTLED}."


def _shared_ranks(ranked: Sequence[RankedVendor], metrics: Sequence[str], *, of_all: bool) -> Iterator[str]:
    """Yield a note for vendors that are equal in a metric, with the rank that they share there."""
    for metric in metrics:
        sharing = group_by_key((float(row.ranks[metric]), _name(row, of_all=of_all)) for row in ranked)
        for rank, names in sorted(sharing.items()):
            if len(names) > 1:
                yield f"Equal in {METRICS[metric].label}, rank {rank:g} each: {_some(names)}."


def _rank_record(row: RankedVendor, overall: RankedVendor) -> dict[str, Any]:
    record: dict[str, Any] = {"model": row.model, "vendor": row.vendor}
    record |= {name: getattr(row, name) for name in ("status", "rank", "tie", "rank_low", "rank_high", "irf")}
    record |= {"global_rank": overall.rank, "global_irf": overall.irf}
    record |= {name: row.metrics[name].value for name in METRICS}
    return record | {"reasons": "; ".join(row.reasons), "panel": row.panel and row.panel.finding}
