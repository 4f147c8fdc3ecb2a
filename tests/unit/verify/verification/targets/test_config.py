from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from trialbed.errors import DataError, TrialbedError, UsageError
from trialbed_verify.verification import RequestSettings, Target, config_targets
from trialbed_verify.verification.targets._config import read_config

SETTINGS = RequestSettings(model="")

WHOLE = """
minimax-m2.5:
  vendors:
    - name: acme
      model_id: acme/m2p5
      api_key: xxxxxx
      provider: fast/
      url: https://acme.example/v1/
      validator: openai
      is_baseline: true
    - name: other
      url: https://other.example/v1
"""


def config(folder: Path, text: str = WHOLE) -> Path:
    path = folder / "config.yaml"
    path.write_text(text)
    return path


def targets(folder: Path, text: str = WHOLE, **keys: str) -> list[Target]:
    return config_targets(config(folder, text), SETTINGS, None, folder / "data", keys)


def test_a_file_names_models_and_vendors(tmp_path: Path) -> None:
    first, second = targets(tmp_path, acme="sk-acme", OTHER_API_KEY="sk-other")
    assert (first.settings.model, first.url) == ("minimax-m2.5", "https://acme.example/v1/chat/completions")
    assert (first.settings.model_id, first.is_baseline) == ("acme/m2p5", True)
    assert (first.name, first.api_key, second.api_key) == ("fast (acme)", "sk-acme", "sk-other")
    assert first.output == tmp_path / "data" / "minimax-m2.5_acme_fast_results.jsonl"
    assert second.summary == tmp_path / "data" / "minimax-m2.5_other_summary.json"
    assert second.vendor.model_id("minimax-m2.5") == "minimax-m2.5"


def test_a_missing_key_is_named_with_the_variables_that_would_hold_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"line 4: no key found for acme.*acme, ACME, ACME_API_KEY"):
        targets(tmp_path, other="sk-other")


def test_a_key_in_the_file_is_used_where_git_would_not_commit_it(tmp_path: Path) -> None:
    text = WHOLE.replace("xxxxxx", "sk-in-the-file")
    assert targets(tmp_path, text, other="sk-other")[0].api_key == "sk-in-the-file"
    assert targets(tmp_path, text, acme="sk-env", other="sk-other")[0].api_key == "sk-env"


def test_a_key_in_a_file_that_git_would_commit_is_refused_with_its_line(tmp_path: Path) -> None:
    text = WHOLE.replace("xxxxxx", "sk-in-the-file")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(UsageError, match=r"config\.yaml, line 6: contains a key") as caught:
        targets(tmp_path, text, other="sk-other")
    assert "sk-in-the-file" not in str(caught.value)
    (tmp_path / ".gitignore").write_text("config.yaml\n")
    assert targets(tmp_path, text, other="sk-other")[0].api_key == "sk-in-the-file"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file must be a mapping"),
        ("m:\n  - x\n", "line 2: m must be a mapping"),
        ("m:\n  vendor: []\n", "line 2: m: needs a list under `vendors:`"),
        ("m:\n  vendors:\n    - url: x\n", "line 3: a vendor of m has no name"),
        ("m:\n  vendors:\n    - name: a\n      colour: red\n", "line 4: unknown key 'colour'"),
        ("m:\n  vendors:\n    - name: a\n      is_baseline: maybe\n", "line 4: is_baseline must be true or false"),
        ("m:\n  vendors:\n    - name: a\n      api_key: [sk-secret]\n", "line 4: api_key must be a string"),
        ("m:\n  vendors:\n    - name: a\n      validator: other\n", "validator must be one of openai"),
        ("m:\n  vendors:\n    - name: a\n    - name: a\n", "listed twice"),
        (
            "m:\n  vendors:\n  - {name: a, is_baseline: true}\n  - {name: b, is_baseline: true}\n",
            "2 vendors are marked as its baseline",
        ),
        ("m:\n  vendors: []\n", "names no vendors"),
        ("m: [\n", "not valid YAML: line"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_without_its_value(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_config(config(tmp_path, text))
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_vendor_that_nobody_knows_needs_a_url(tmp_path: Path) -> None:
    with pytest.raises(TrialbedError, match="the address of nowhere is not known"):
        targets(tmp_path, "m:\n  vendors:\n    - name: nowhere\n", nowhere="k")
