"""Figures under several names of the model."""

from __future__ import annotations

from trialbed_adapter_lab.fidelity import FidelityOptions
from trialbed_adapter_lab.fidelity._measure import _subjects


def test_a_framework_has_a_column_for_each_name_of_the_model() -> None:
    alone = _subjects(FidelityOptions(frameworks=("acme",)))
    assert [(subject.column, subject.model_name) for subject in alone] == [("reference", "gpt-4o"), ("acme", "gpt-4o")]
    compared = _subjects(FidelityOptions(frameworks=("acme",), model_names=("gpt-4o", "mine")))
    assert [(subject.column, subject.label, subject.model_name) for subject in compared] == [
        ("reference (gpt-4o)", "reference", "gpt-4o"),
        ("reference (mine)", "reference", "mine"),
        ("acme (gpt-4o)", "acme", "gpt-4o"),
        ("acme (mine)", "acme", "mine"),
    ]
