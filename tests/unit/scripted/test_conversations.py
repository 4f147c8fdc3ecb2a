"""Scripted users and scripted models have the conversations of the truth table; frameworks play it with the others."""

from __future__ import annotations

import pytest
from support.truth import CONVERSATIONS, conversation_scores, conversing, expected_conversation

from trialbed import evaluate
from trialbed.records import SETTINGS
from trialbed.report import legacy_documents


def test_every_conversation_has_its_known_scores() -> None:
    models, tasks = tuple(f"scripted:{policy}" for policy in conversing()), tuple(CONVERSATIONS["tasks"])
    report = evaluate("reference", "desk", model=models, query_ids=tasks, progress=False)
    found = {
        (result["query_id"], document["metadata"]["agent_name"].partition(SETTINGS)[2]): conversation_scores(result)
        for document in legacy_documents(report)
        for result in document["results"]
    }
    assert found == {
        (task, f"scripted:{policy}"): pytest.approx(expected_conversation("reference", task, policy))
        for task in tasks
        for policy in conversing()
    }
