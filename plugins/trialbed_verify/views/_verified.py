"""Tables of the comparisons and ranks of one verification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trialbed.views import Table, estimate
from trialbed_verify.comparison import VendorComparison
from trialbed_verify.ranking import ModelComparison, VerifiedVendors
from trialbed_verify.views._ranking import ranking_tables

COLUMNS = ("vendor", "verdict", "by F1 alone", "F1, as delivered", "F1, where both answered", "cases")


def verified_tables(found: VerifiedVendors) -> list[Table]:
    """Return a table of comparisons for each model, and those of the ranking."""
    return [
        *comparison_overview(found.models),
        *(ranking_tables(found.ranking, reasons=False) if found.ranking else ()),
    ]


def comparison_overview(models: Iterable[ModelComparison]) -> list[Table]:
    """Return a table of comparisons for each model."""
    return [Table.of(_title(one), COLUMNS, map(_row, one.comparisons), _notes(one)) for one in models]


def _title(found: ModelComparison) -> str:
    return f"{found.model} compared with {found.baseline}" if found.baseline else f"{found.model}: not compared"


def _row(one: VendorComparison) -> tuple[str, ...]:
    return (
        one.vendor.vendor,
        one.panel.finding,
        one.verdict.finding,
        estimate(one.similarity.delivered.f1),
        estimate(one.similarity.answered.f1),
        str(one.pairing.cases),
    )


def _notes(found: ModelComparison) -> Iterator[str]:
    yield from _reasons((one.panel.reason, one.vendor.vendor, "") for one in found.comparisons)
    yield from _reasons((one.verdict.reason, one.vendor.vendor, ", by F1 alone") for one in found.comparisons)
    for one in found.comparisons:
        vendor, pairing = one.vendor.vendor, one.pairing
        left_out = pairing.only_baseline + pairing.only_vendor
        if left_out:
            yield f"{vendor}: {left_out} rows are left out because only one file has them."
        yield from (
            f"{vendor}: settings of {count} requests differ: {text}." for text, count in pairing.settings.items()
        )
    yield from (f"{note}." for note in found.notes)


def _reasons(found: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield each reason of a verdict once, with the vendors that it is true of."""
    vendors: dict[tuple[str, str], list[str]] = {}
    for reason, vendor, by in found:
        vendors.setdefault((reason, by), []).append(vendor)
    for (reason, by), names in vendors.items():
        yield f"{', '.join(names)}{by}: {reason}."
