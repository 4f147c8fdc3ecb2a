"""The conclusion about a vendor in one sentence, as pages begin with it."""

from __future__ import annotations

from trialbed_verify.comparison import VendorComparison

CONCLUSIONS = {
    "different": "{vendor} differs from {baseline}",
    "equivalent": "{vendor} is equivalent to {baseline}",
    "inconclusive": "{vendor} is neither shown to equal {baseline} nor to differ",
}


def conclusion(found: VendorComparison) -> str:
    """Return the verdict on a vendor, its meaning for callers, and the cases that would settle an open one."""
    panel = found.panel
    verdict = CONCLUSIONS[panel.finding].format(vendor=found.vendor.vendor, baseline=found.baseline.vendor)
    damage, apart, rest = panel.reason.partition("; ")
    if panel.needed:
        rest, apart = f"about {panel.needed:,} cases would settle it", "; "
    return f"{verdict}: {damage}{apart}{rest}."
