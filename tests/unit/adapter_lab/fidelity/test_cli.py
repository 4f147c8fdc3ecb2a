from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from support.fidelity import CONDITIONS

from trialbed.errors import DataError
from trialbed_adapter_lab.fidelity import FidelityOptions
from trialbed_adapter_lab.fidelity.cli import _read, command

OPTIONS = {option.name: option for option in command.params if isinstance(option, click.Option)}


def test_a_variable_that_is_meant_for_runs_changes_no_measurement() -> None:
    assert OPTIONS["output"].envvar is None


def test_the_reference_comes_first_and_once() -> None:
    assert FidelityOptions(frameworks=("b", "reference", "a", "b")).labels == ("reference", "b", "a")
    assert FidelityOptions().labels == ("reference",)


def test_parts_that_a_file_does_not_have_are_told(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    conditions = CONDITIONS.model_copy(update={"parts": ("prompt",)}).model_dump(mode="json")
    figures.write_text(json.dumps({"conditions": conditions, "frameworks": [{"framework": "reference"}]}))
    with pytest.raises(DataError, match="has no figures of the part errors; it has those of prompt"):
        _read(figures, ("errors",))
    assert _read(figures, ()).conditions.parts == ("prompt",)


@pytest.mark.parametrize("measured", [True, False])
def test_an_interrupted_measurement_shows_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, measured: bool
) -> None:
    async def run(self: Any) -> None:
        self._note("reference", version="1.0", **({"errors": ()} if measured else {}))
        raise asyncio.CancelledError

    monkeypatch.setattr("trialbed_adapter_lab.fidelity._measure._Measurement.run", run)
    figures = tmp_path / "figures.json"
    arguments = ["--part", "errors", "--part", "prompt", "--json", "--output", str(figures)]
    done = CliRunner().invoke(command, arguments)
    assert (done.exit_code, figures.exists()) == (1, measured)
    if measured:
        (reference,) = json.loads(done.stdout)["frameworks"]
        assert reference["missing"] == [{"part": "prompt", "reason": "interrupted before it was measured"}]
        assert json.loads(figures.read_text())["frameworks"] == [reference]
