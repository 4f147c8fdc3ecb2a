"""The checks of conversations, on agents that each do one thing wrong with the history."""

from __future__ import annotations

from typing import Any

import pytest
from support.defects import DEFECTS
from support.defects.histories import Conversing, KeepsTexts, Remembers, Windowed

from trialbed_adapter_lab import check_adapter
from trialbed_adapter_lab.probe import probes_of
from trialbed_adapter_lab.probes import history
from trialbed_plugins.frameworks.reference import ReferenceAgent


class AskedOnce(ReferenceAgent):
    """It cannot be asked again."""

    converses = False


@pytest.mark.parametrize("agent", [Conversing, *(one for one in DEFECTS if issubclass(one, Conversing))])
def test_what_is_done_to_the_history_is_seen(agent: type[Any]) -> None:
    report = check_adapter(agent, probes_of(history), profile="controlled", level="info")
    assert {finding.check for finding in report.problems} == set(DEFECTS.get(agent, ()))
    (figures,) = (finding.seen for finding in report.findings if finding.level == "info")
    assert isinstance(figures, dict)
    assert figures["messages dropped"] == {Windowed: 14, KeepsTexts: 2}.get(agent, 0)
    assert figures["bytes, turn 1"] < figures["bytes, turn 3"]


def test_requests_for_a_memory_are_seen() -> None:
    report = check_adapter(Remembers, [history.no_requests_beside_the_turns], profile="controlled")
    assert "extra request" in report.findings[0].message


def test_an_agent_that_is_asked_once_is_not_tried() -> None:
    report = check_adapter(AskedOnce, probes_of(history), level="info")
    assert {finding.outcome for finding in report.findings} == {"skipped"}
