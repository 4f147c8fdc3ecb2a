"""What is done to tool schemas, and to the arguments of calls, shows."""

from __future__ import annotations

import pytest
from support.measured import Fidelity, Measured

from trialbed_adapter_lab.fidelity import SchemaFinding, ToolSchemas

pytestmark = pytest.mark.slow(15)

AGENTS = (
    "drops-definitions",
    "renames",
    "strict",
    "sorts-keys",
    "describes",
    "sorts-tools",
    "keeps-ten-tools",
    "refuses-underscores",
    "aborts-at-lists",
    "coerces",
    "fills-in",
)


@pytest.fixture(scope="module")
def measured(fidelity: Fidelity) -> Measured:
    return fidelity(*AGENTS, options=("--part", "schemas"))


def schemas(measured: Measured, framework: str) -> ToolSchemas:
    found = measured.of(framework).schemas
    assert found is not None
    return found


def of(found: ToolSchemas, effect: str) -> dict[str, SchemaFinding]:
    return {finding.name: finding for finding in found.findings if effect in finding.effects}


def called(found: ToolSchemas, how: str) -> set[str]:
    return {finding.name for finding in found.findings if finding.call == how}


def test_a_faithful_framework_changes_nothing(measured: Measured) -> None:
    found = schemas(measured, "reference")
    assert len(found.findings) >= 60
    assert all(finding.effects == () and finding.call == "as sent" for finding in found.findings)
    assert (found.order, found.trials) == ("kept", 1)


def test_dropped_definitions_are_lost(measured: Measured) -> None:
    lost = of(schemas(measured, "drops-definitions"), "lost")
    assert {"ref_to_defs", "ref_recursive", "unused_definition"} <= set(lost)
    assert "ref_to_definitions" not in lost
    assert all([d.pointer for d in finding.differences] == ["/parameters/$defs"] for finding in lost.values())


def test_rewritten_names_are_found(measured: Measured) -> None:
    found = schemas(measured, "renames")
    renamed = of(found, "renamed")
    assert renamed["getHTTPResponseCode"].sent_name == "gethttpresponsecode"
    assert renamed["get-parcel-state"].sent_name == "get_parcel_state"
    assert "zebra_first" not in renamed
    # Two tools got one name: a call of it reaches one of them, so that the other cannot be called.
    assert set(of(found, "missing")) == {"Lookup"}
    assert found.others == ("lookup",)


def test_additions_for_strict_mode_are_found(measured: Measured) -> None:
    found = schemas(measured, "strict")
    added = of(found, "added")
    assert len(added) > 50
    pointers = {difference.pointer for finding in added.values() for difference in finding.differences}
    assert "/parameters/additionalProperties" in pointers
    assert "/parameters/required/0" in pointers
    assert all(finding.beside == {"strict": True} for finding in found.findings)


def test_keys_in_another_order_are_no_loss(measured: Measured) -> None:
    found = schemas(measured, "sorts-keys")
    assert len(of(found, "reordered")) > 50
    assert {effect for finding in found.findings for effect in finding.effects} == {"reordered"}


def test_words_around_descriptions_are_changes(measured: Measured) -> None:
    found = schemas(measured, "describes")
    assert len(of(found, "changed")) == len(found.findings)
    assert found.findings[0].differences[0].pointer == "/description"


def test_tools_in_another_order_are_told(measured: Measured) -> None:
    found = schemas(measured, "sorts-tools")
    assert found.order == "by name"
    assert all(finding.effects == () for finding in found.findings)


def test_tools_that_were_not_sent_are_missing(measured: Measured) -> None:
    found = schemas(measured, "keeps-ten-tools")
    assert len(of(found, "missing")) == len(found.findings) - 10
    assert found.trials == 1


def test_a_schema_that_a_framework_cannot_take_costs_none_of_the_others(measured: Measured) -> None:
    found = schemas(measured, "refuses-underscores")
    refused = of(found, "refused")
    assert set(refused) == {"underscore_properties"}
    assert "must not begin with an underscore" in refused["underscore_properties"].reason
    assert all(finding.call == "as sent" for finding in found.findings if finding.name not in refused)
    assert found.trials > 1


def test_calls_that_break_a_framework_are_found_one_by_one(measured: Measured) -> None:
    found = schemas(measured, "aborts-at-lists")
    broken = {finding.name for finding in found.findings if finding.reason}
    assert "array_of_objects" in broken
    assert "nested_twice" not in broken
    assert broken <= called(found, "not made")
    assert all(finding.effects == () for finding in found.findings)


def test_arguments_that_arrive_as_others_are_found(measured: Measured) -> None:
    assert called(schemas(measured, "coerces"), "changed") == {"text_that_looks_like_values"}
    filled = schemas(measured, "fills-in")
    assert {"default_scalars", "optional_object"} <= called(filled, "changed")
    (finding,) = [one for one in filled.findings if one.name == "nullable_by_any_of"]
    assert [(d.kind, d.pointer, d.sent) for d in finding.call_differences] == [("added", "/limit", None)]
