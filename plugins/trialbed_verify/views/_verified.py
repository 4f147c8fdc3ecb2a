"""Tables of the comparisons and ranks of one verification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trialbed.texts import number_of
from trialbed.views import Table, compact, estimate
from trialbed_verify.comparison import VendorComparison
from trialbed_verify.ranking import ModelComparison, VerifiedVendors
from trialbed_verify.views._ranking import ranking_tables

COLUMNS = ("vendor", "verdict", "F1, as delivered", "F1, where both answered", "cases")


def verified_tables(found: VerifiedVendors) -> list[Table]:
    """Return a table of comparisons for each model, and those of the ranking."""
    return [
        *_overviews(found.models),
        *(ranking_tables(found.ranking, verdicts=False) if found.ranking else ()),
    ]


def _overviews(models: Iterable[ModelComparison]) -> list[Table]:
    """Return a table of comparisons for each model."""
    return [Table.of(_title(one), COLUMNS, map(_row, one.comparisons), _notes(one)) for one in models]


def _title(found: ModelComparison) -> str:
    return f"{found.model} compared with {found.baseline}" if found.baseline else f"{found.model}: not compared"


def _row(one: VendorComparison) -> tuple[str, ...]:
    return (
        one.vendor.vendor,
        one.panel.finding,
        estimate(one.similarity.delivered.f1),
        estimate(one.similarity.answered.f1),
        str(one.pairing.cases),
    )


def _notes(found: ModelComparison) -> Iterator[str]:
    if found.under_load:
        yield from map(_speed, found.comparisons)
    yield from _reasons((one.panel.reason, one.vendor.vendor, "") for one in found.comparisons)
    for one in found.comparisons:
        vendor, pairing = one.vendor.vendor, one.pairing
        left_out = pairing.only_baseline + pairing.only_vendor
        if left_out:
            verb = "is" if left_out == 1 else "are"
            yield f"{vendor}: {number_of(left_out, 'row')} {verb} left out because only one file has them."
        yield from (
            f"{vendor}: settings of {number_of(count, 'request')} differ: {text}."
            for text, count in pairing.settings.items()
        )
    yield from (f"{note}." for note in found.notes)


SPEEDS = {"ttft_ms": "the first token after {} ms", "tps": "{} tokens/s", "duration_ms": "whole answers after {} ms"}


def _speed(one: VendorComparison) -> str:
    """Return what load does to a vendor's speed and availability: means, and their differences within cases."""
    found = []
    for name, words in SPEEDS.items():
        usual, loaded, apart = (getattr(one.figures[name], part) for part in ("baseline", "vendor", "difference"))
        if loaded.mean.value is not None and usual.mean.value is not None:
            changed = f"{compact(loaded.mean.value)} instead of {compact(usual.mean.value)}"
            found.append(f"{words.format(changed)} (by {estimate(apart, 1)})")
    rates = one.success_rate
    found.append(f"a success rate of {estimate(rates.vendor, 3)} instead of {estimate(rates.baseline, 3)}")
    return f"{one.vendor.vendor}: {', '.join(found)}."


def _reasons(found: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield each reason of a verdict once, with the vendors that it is true of."""
    vendors: dict[tuple[str, str], list[str]] = {}
    for reason, vendor, by in found:
        vendors.setdefault((reason, by), []).append(vendor)
    for (reason, by), names in vendors.items():
        yield f"{', '.join(names)}{by}: {reason}."
