"""``bench faults``."""

from __future__ import annotations

import json

from click.testing import CliRunner

from trialbed_scripted import FAULTS
from trialbed_scripted.command import command
from trialbed_scripted.faults import atlas


def test_all_faults_are_listed_with_their_reports() -> None:
    listed = json.loads(CliRunner().invoke(command, ["list", "--json"]).output)
    assert [one["fault"] for one in listed] == [*FAULTS, *atlas()]
    reports = {one["fault"]: one["report"] for one in listed}
    assert (reports["lmstudio-830"], reports["status"]) == ("lmstudio#830", None)
    table = CliRunner().invoke(command, ["list"]).output
    assert "lmstudio#830" in table
