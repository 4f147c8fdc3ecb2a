"""Answers of StableToolBench, raw and converted, and its queries."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.conversations import CONVERTED, RAW, UNFINISHED, only, written

from trialbed.errors import DataError
from trialbed_evaluation.conversations import ToolCall, read_references, read_samples


def test_finish_is_no_call_but_the_answer(tmp_path: Path) -> None:
    for value, name in ((CONVERTED, "a.json"), (RAW, "588_CoT@1.json")):
        sample = only(written(tmp_path, value, name=name))
        assert sample.id == "588"
        assert [call.name for call in sample.calls] == ["weather"]
        assert sample.messages is not None
        assert sample.messages[-1].content == "Sunny."
        assert sorted(sample.tools) == ["weather"]


def test_an_unfinished_raw_answer_has_its_last_path(tmp_path: Path) -> None:
    sample = only(written(tmp_path, UNFINISHED))
    assert sample.messages is not None
    assert [message.role for message in sample.messages] == ["user", "assistant", "assistant", "tool"]
    tree = {"children": [{"node_type": "Thought", "description": "no"}, {"node_type": "Thought", "description": "yes"}]}
    sample = only(written(tmp_path, {**UNFINISHED, "trys": [], "tree": {"tree": tree}}))
    assert sample.messages is not None
    assert [message.content for message in sample.messages] == ["weather?", "yes"]


def test_queries_of_stabletoolbench_are_references(tmp_path: Path) -> None:
    apis = [
        ["Kick.com API | Kick API", "Get channel clips"],
        ["Dad Jokes_v2", "id"],
        ["T" * 70, "x"],
        ["Dad Jokes_v2", "id"],
    ]
    names = ["get_channel_clips_for_kick_com_api_kick_api", "is_id_for_dad_jokes_v2", "t" * 64]
    path = written(tmp_path, [{"query_id": 588, "query": "?", "relevant APIs": apis}])
    assert read_references(path) == {"588": {"reference": tuple(ToolCall(name, None) for name in names)}}
    with pytest.raises(DataError, match=r"relevant APIs\[0\]: must be"):
        read_references(written(tmp_path, {"query_id": 1, "relevant APIs": [["a"]]}))


def test_stabletoolbench_files_are_read(stabletoolbench_dir: Path) -> None:
    example = stabletoolbench_dir / "data_example"
    converted = read_samples(example / "model_predictions_converted" / "virtual_chatgpt_cot" / "G1_instruction.json")
    raw = read_samples(example / "answer" / "virtual_chatgpt_cot" / "G1_instruction")
    assert {sample.id for sample in converted} == {sample.id for sample in raw} == {"588", "608", "1073"}
    calls = {sample.id: [(call.name, call.args) for call in sample.calls] for sample in raw}
    assert {sample.id: [(call.name, call.args) for call in sample.calls] for sample in converted} == calls
    gold = read_references(stabletoolbench_dir / "solvable_queries" / "test_instruction" / "G1_instruction.json")
    right = {name: {call.name for call in gold[name]["reference"]} for name in calls}
    assert all(right[name] <= {call for call, _ in made} for name, made in calls.items() if name != "588")
