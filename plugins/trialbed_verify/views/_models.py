"""Unified names of models as tables of text."""

from __future__ import annotations

from collections.abc import Mapping

from trialbed.views import Table

OTHERS = "Any other vendor gets the name as it is; `model_id` in its entry gives it another."
NONE = "No vendor driver is installed; install trialbed-vendors, which is in adapters/vendors of Trialbed's checkout."


def model_tables(models: Mapping[str, Mapping[str, str]]) -> list[Table]:
    """One table of all models and the vendors that have a name for them."""
    rows = [(model, vendor, own) for model, vendors in models.items() for vendor, own in vendors.items()]
    notes = [OTHERS] if rows else [NONE]
    return [Table.of("Unified names of models", ("model", "vendor", "the vendor's own name"), rows, notes)]
