from __future__ import annotations

from pathlib import Path

import pytest
from support.verification import configured

from trialbed_verify.verification import doubtful_models, unified_models

pytest.importorskip("trialbed_vendors")


def doubts(folder: Path, model: str, vendor: str, model_id: str = "") -> list[str]:
    given = f", model_id: {model_id}" if model_id else ""
    text = f"{model}:\n  vendors:\n    - {{name: {vendor}{given}}}\n"
    return list(doubtful_models(configured(folder, text, **{vendor: "k" * 9})))


def test_the_names_of_all_vendors_are_listed() -> None:
    models = unified_models()
    assert {"gemini-2.5-flash", "claude-sonnet-4.5", "deepseek-v3.2", "glm-4.7", "minimax-m2.5", "kimi-k2.5"} <= set(
        models
    )
    assert models["kimi-k2.5"]["siliconflow"] == "moonshotai/Kimi-K2.5"


def test_a_name_that_a_vendor_would_not_understand_is_doubtful(tmp_path: Path) -> None:
    (doubt,) = doubts(tmp_path, "kimi-k2-5", "siliconflow")
    assert "has no name for 'kimi-k2-5'" in doubt
    assert "did you mean 'kimi-k2.5' (--list-models)?" in doubt
    (doubt,) = doubts(tmp_path, "some-other-model", "siliconflow")
    assert "did you mean" not in doubt


@pytest.mark.parametrize(
    ("model", "vendor", "own"),
    [
        ("kimi-k2.5", "siliconflow", ""),
        ("kimi-k2-5", "siliconflow", "x/y"),
        ("gpt-5", "openai", ""),
        ("glm-9", "bigmodel", ""),
    ],
)
def test_other_names_are_not(model: str, vendor: str, own: str, tmp_path: Path) -> None:
    assert doubts(tmp_path, model, vendor, own) == []
