"""A scripted model as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from trialbed_scripted.__main__ import main


def test_a_model_of_a_module_is_served(tmp_path: Path) -> None:
    (tmp_path / "weather.py").write_text("from trialbed_scripted import script\nmodel = script('sunny')\n")
    command = [sys.executable, "-m", "trialbed_scripted", "weather:model"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        answer = httpx.post(f"{url}/chat/completions", json={}).json()
        process.terminate()
        assert process.wait(60) == 0
    assert answer["choices"][0]["message"]["content"] == "sunny"


def test_what_is_wrong_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--faults", "statuz"]) == 2
    assert "there is no fault 'statuz'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["nowhere:model"])
    assert ended.value.code == 2
    assert "nowhere:model: No module named 'nowhere'" in capsys.readouterr().err
