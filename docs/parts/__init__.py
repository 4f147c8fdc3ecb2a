"""Generate text of the documentation, both parts of committed pages, and pages that are not committed."""

from __future__ import annotations

from collections.abc import Callable

from parts import commands, python_api, results, tables

__all__ = ["PAGES", "PARTS"]

PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands.commands_page,
    "reference/python-api.md": python_api.python_page,
    "results/index.md": results.index_page,
    "results/probes.md": results.probes_page,
    "results/faulty-models.md": results.faulty_models_page,
    "results/releases.md": results.releases_page,
    "results/wire-faults.md": results.wire_faults_page,
    "results/deliberate-defects.md": results.defects_page,
}
"""The path of each page that is not committed, and the function that writes it."""

PARTS: dict[str, Callable[[], str]] = {
    "argument-rules": tables.argument_rules,
    "call-reasons": tables.call_reasons,
    "conversation-formats": tables.conversation_formats,
    "costs-of-frameworks": tables.costs_of_frameworks,
    "document-keys": tables.document_keys,
    "expectations": tables.expectations,
    "failure-kinds": tables.failure_kinds,
    "fault-answers": tables.fault_answers,
    "faults": tables.faults,
    "finding-kinds": tables.finding_kinds,
    "findings": results.findings,
    "outcomes": tables.outcomes,
    "policies": tables.policies,
    "problem-kinds": tables.problem_kinds,
    "right-argument-values": tables.right_argument_values,
    "right-conversations": tables.right_conversations,
    "right-values": tables.right_values,
    "run-settings": commands.run_settings,
    "scores": tables.scores,
    "settings": commands.settings,
    "suites": tables.suites,
    "vendor-drivers": tables.vendor_drivers,
}
"""The name of every part in committed pages, and the function that writes it."""
