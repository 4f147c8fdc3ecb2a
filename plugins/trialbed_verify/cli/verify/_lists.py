"""The lists that ``bench verify`` prints instead of sending requests."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trialbed.cli.options import print_json

if TYPE_CHECKING:
    from trialbed.views import Table

OTHERS = "Any other vendor gets the name as it is; `model_id` in its entry gives it another."
NONE = "No vendor driver is installed; install trialbed-vendors, which is in adapters/vendors of Trialbed's checkout."


def print_list(*, models: bool, as_json: bool) -> int:
    """Print unified names of models, or the suites."""
    from trialbed.views import print_tables

    found, table = _models() if models else _suites()
    if as_json:
        print_json(found)
    else:
        print_tables([table], sys.stdout)
    return 0


def _models() -> tuple[Mapping[str, Any], Table]:
    from trialbed.views import Table
    from trialbed_verify.verification import unified_models

    found = unified_models()
    rows = [(model, vendor, own) for model, vendors in found.items() for vendor, own in vendors.items()]
    columns = ("model", "vendor", "the vendor's own name")
    return found, Table.of("Unified names of models", columns, rows, [OTHERS if rows else NONE])


def _suites() -> tuple[Mapping[str, Any], Table]:
    from trialbed.views import Table
    from trialbed_verify.suites import SUITES

    rows = [(name, str(one.size)) for name, one in SUITES.items()]
    notes = [f"{name}: {one.about}." for name, one in SUITES.items()]
    found = {name: {"cases": one.size, "about": one.about} for name, one in SUITES.items()}
    return found, Table.of("Suites", ("suite", "cases"), rows, notes)
