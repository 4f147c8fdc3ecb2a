"""A comparison as tables of text and as records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialbed.views import UNKNOWN, Table, counts, estimate, number
from trialbed_verify.comparison import FIGURES, QUANTILES
from trialbed_verify.views._panel import panel_records, panel_table

Document = Mapping[str, Any]

DIGITS = {"total_tokens": 1, "completion_tokens": 1, "ttft_ms": 1, "tps": 2, "duration_ms": 1}


def comparison_tables(documents: Sequence[Document]) -> list[Table]:
    """For each vendor: the verdict, its rates and the baseline's, figures, and tests."""
    return [table for document in documents for table in _tables(document)]


def comparison_records(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """One record per vendor and figure."""
    return [
        {"vendor": document["vendor"]["vendor"], "baseline": document["baseline"]["vendor"], **record}
        for document in documents
        for record in _records(document)
    ]


def _tables(document: Document) -> Iterator[Table]:
    vendor, baseline = document["vendor"]["vendor"], document["baseline"]["vendor"]
    found = document["verdict"]
    yield panel_table(document["panel"], vendor, baseline)
    notes = [f"{found['reason']}.", *_paired(document)]
    yield Table(f"Decisions by F1 alone: {found['finding']}", notes=notes)
    yield Table.of("Decisions", ("", "answered", "delivered"), _similarity(document), _decided(document))
    yield Table.of("Rates", ("", baseline, vendor), _rates(document), _failures(document))
    yield Table.of("Tokens and times", ("", baseline, vendor, "paired difference"), _figures(document))
    if document["tests"]:
        yield Table.of("Tests", ("", "method", "cases", "p", "p corrected (Holm)"), _tests(document))


def _paired(document: Document) -> Iterator[str]:
    about = document["pairing"]
    yield f"{about['cases']} cases, paired by {about['by']}; {document['common_indices']} pairs of rows."
    left_out = about["only_baseline"] + about["only_vendor"]
    if left_out:
        yield f"Left out because only one file has them: {left_out} rows."
    if about["asked_otherwise"]:
        yield f"Cases whose requests differ: {about['asked_otherwise']}."
    yield from (f"Settings of {count} requests differ: {text}." for text, count in about["settings"].items())
    yield from (f"{note}." for note in document["notes"])


def _similarity(document: Document) -> Iterator[tuple[str, ...]]:
    sides = [document["similarity"][side] for side in ("answered", "delivered")]
    for name in ("cases", "TP", "FP", "FN", "TN"):
        yield name, *(f"{side[name]:g}" for side in sides)
    for name, words in (
        ("precision", "precision"),
        ("recall", "recall"),
        ("f1", "F1"),
        ("chance_f1", "F1 of chance"),
        ("kappa", "kappa"),
    ):
        yield words, *(estimate(side[name]) for side in sides)
    stable = document["stable_subset"]
    if stable:
        cells = [f"{estimate(stable[side]['f1'])} n={stable[side]['cases']}" for side in ("answered", "delivered")]
        yield "F1, stable cases", *cells


def _decided(document: Document) -> Iterator[str]:
    itself = document["self_consistency"]["baseline"]
    if itself is None:
        yield "The baseline has one trial per case, so its self-consistency is unknown."
    else:
        yield (
            f"The baseline compared with itself ({itself['trials']} trials): F1 {estimate(itself['self_f1'])}, "
            f"flip rate {estimate(itself['flip_rate'])}, {itself['stable_cases']} of {itself['cases']} cases stable."
        )
    yield "answered: cases that both answered. delivered: a failure counts as a missed call."
    k2 = document["tool_call_trigger_similarity"]
    yield (
        f"K2-style, of {document['matched_success']} pairs without failures: TP {k2['TP']}, FP {k2['FP']}, "
        f"FN {k2['FN']}, TN {k2['TN']}, precision {k2['precision']}, recall {k2['recall']}, F1 {k2['f1']}, "
        f"schema accuracy {document['tool_call_schema_accuracy']['schema_accuracy']}."
    )


def _rates(document: Document) -> Iterator[tuple[str, ...]]:
    rates, schema = document["success_rate"], document["schema_accuracy"]
    sides = ("baseline", "vendor")
    yield "success", *(estimate(rates[side], with_n=True) for side in sides)
    yield "schema, per response", *(estimate(schema[side]["per_response"], with_n=True) for side in sides)
    yield "schema, per call", *(estimate(schema[side]["per_call"], with_n=True) for side in sides)


def _failures(document: Document) -> Iterator[str]:
    for side in ("baseline", "vendor"):
        name, ended, schema = document[side]["vendor"], document["outcomes"][side], document["schema_accuracy"][side]
        for words, found in (
            ("failed", ended["problems"]),
            ("ended otherwise", ended["other_finish_reasons"]),
            ("calls were wrong", schema["reasons"]),
        ):
            if found:
                yield f"{name} {words}: {counts(found)}."


def _figures(document: Document) -> Iterator[tuple[str, ...]]:
    for figure in FIGURES:
        own, digits = document["figures"][figure], DIGITS[figure]
        sides = [own[side] for side in ("baseline", "vendor")]
        if not any(side["n"] for side in sides):
            yield f"{figure}", *(UNKNOWN for _ in range(3))
            continue
        cells = [estimate(side["mean"], digits) + _lacking(side) for side in sides]
        yield f"{figure} mean", *cells, estimate(own["difference"], digits)
        spread = ["/".join(number(side[name]["value"], digits) for name in QUANTILES) for side in sides]
        yield f"{figure} {'/'.join(QUANTILES)}", *spread, ""


def _lacking(side: Mapping[str, Any]) -> str:
    return f", {side['missing']} missing" if side["missing"] else ""


def _tests(document: Document) -> Iterator[tuple[str, ...]]:
    for test in document["tests"]:
        yield test["metric"], test["method"], str(test["cases"]), _p(test["p"]), _p(test["p_holm"])


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"


def _records(document: Document) -> Iterator[dict[str, Any]]:
    yield from panel_records(document["panel"])
    for name, side in document["similarity"].items():
        for figure in ("precision", "recall", "f1", "chance_f1", "kappa"):
            yield {"side": name, "figure": figure, **side[figure]}
    itself = document["self_consistency"]["baseline"]
    if itself is not None:
        for figure in ("self_f1", "flip_rate"):
            yield {"side": "baseline", "figure": figure, **itself[figure]}
    for side in ("baseline", "vendor"):
        yield {"side": side, "figure": "success_rate", **document["success_rate"][side]}
        for unit in ("per_response", "per_call"):
            found = document["schema_accuracy"][side][unit]
            if found is not None:
                yield {"side": side, "figure": f"schema_accuracy_{unit}", **found}
        for figure in FIGURES:
            own = document["figures"][figure][side]
            yield {"side": side, "figure": f"{figure}_mean", **own["mean"]}
            for name in QUANTILES:
                yield {"side": side, "figure": f"{figure}_{name}", **own[name], "n": own["n"]}
