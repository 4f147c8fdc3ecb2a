"""The lists that ``bench verify`` prints instead of sending requests."""

from __future__ import annotations

import sys

from trialbed.cli.options import print_json


def print_list(*, models: bool, as_json: bool) -> int:
    """Print unified names of models, or the suites."""
    from trialbed.views import Table, print_tables
    from trialbed_verify.suites import SUITES
    from trialbed_verify.verification import unified_models
    from trialbed_verify.views import model_tables

    found: object
    if models:
        found = unified_models()
        tables = model_tables(found)
    else:
        found = {name: {"cases": one.size, "about": one.about} for name, one in SUITES.items()}
        rows = [(name, str(one.size)) for name, one in SUITES.items()]
        notes = [f"{name}: {one.about}." for name, one in SUITES.items()]
        tables = [Table.of("Suites", ("suite", "cases"), rows, notes)]
    if as_json:
        print_json(found)
    else:
        print_tables(tables, sys.stdout)
    return 0
