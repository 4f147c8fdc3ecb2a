"""The parts of the documentation that are written by the code: the name of each, and the function that writes it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from parts._cells import conversation_cells, native_cells, right_argument_values, right_conversations, right_values
from parts._commands import adopting, command_overview, commands, run_settings, settings
from parts._fidelity import conversations, fidelity
from parts._growth import gateway_costs, growth_of_reading, store_costs
from parts._metrics import argument_rules, conversation_formats, conversation_names, metric_names
from parts._nodes import concurrency, costs_of_frameworks, costs_of_nodes, limits_of_vendors
from parts._notebook import notebook
from parts._pages import all_pages
from parts._python import (
    api_objects,
    benchmark,
    contract_classes,
    dialect_names,
    evaluating,
    hooks,
    kit_names,
    public_names,
    reading,
    scripted_names,
    wire_names,
)
from parts._records import record_fields
from parts._releases import framework_releases
from parts._results import findings, published_results
from parts._runs import checks, document_keys, drivers, error_tree, failure_kinds, mutation_score, policies
from parts._scores import scores
from parts._vendors import (
    call_reasons,
    expectations,
    fault_answers,
    faults,
    finding_kinds,
    outcomes,
    problem_kinds,
    suites,
    vendor_drivers,
    wire_fault_frameworks,
    wire_faults,
)

__all__ = ["PARTS"]

FRAMEWORKS = (
    *("agent-framework", "agno", "autogen", "crewai", "google-adk"),
    *("langgraph", "openai-agents", "pydantic-ai", "smolagents"),
)
"""Those whose pages say what they keep of a conversation."""

PARTS: dict[str, Callable[[], str]] = {
    "adopting": adopting,
    "all-pages": all_pages,
    "api-objects": api_objects,
    "argument-rules": argument_rules,
    "benchmark": benchmark,
    "evaluating": evaluating,
    "call-reasons": call_reasons,
    "dialect-names": dialect_names,
    "wire-names": wire_names,
    "checks": checks,
    "mutation-score": mutation_score,
    "command-overview": command_overview,
    "commands": commands,
    "contracts": contract_classes,
    "concurrency": concurrency,
    "conversation-cells": conversation_cells,
    "conversation-formats": conversation_formats,
    "conversation-names": conversation_names,
    "costs-of-frameworks": costs_of_frameworks,
    "costs-of-nodes": costs_of_nodes,
    "document-keys": document_keys,
    "drivers": drivers,
    "error-tree": error_tree,
    "expectations": expectations,
    "failure-kinds": failure_kinds,
    "fault-answers": fault_answers,
    "faults": faults,
    "fidelity": fidelity,
    "framework-releases": framework_releases,
    "findings": findings,
    "finding-kinds": finding_kinds,
    "gateway-costs": gateway_costs,
    "growth-of-reading": growth_of_reading,
    "growth-of-stores": store_costs,
    "hooks": hooks,
    "kit-names": kit_names,
    "scripted-names": scripted_names,
    "limits-of-vendors": limits_of_vendors,
    "metric-names": metric_names,
    "native-cells": native_cells,
    "notebook": notebook,
    "outcomes": outcomes,
    "policies": policies,
    "problem-kinds": problem_kinds,
    "public-names": public_names,
    "reading": reading,
    "record-fields": record_fields,
    "right-argument-values": right_argument_values,
    "right-conversations": right_conversations,
    "right-values": right_values,
    "run-settings": run_settings,
    "results": published_results,
    "scores": scores,
    "settings": settings,
    "suites": suites,
    "vendor-drivers": vendor_drivers,
    "wire-faults": wire_faults,
    "wire-fault-frameworks": wire_fault_frameworks,
} | {f"conversations-{name}": partial(conversations, name) for name in FRAMEWORKS}
