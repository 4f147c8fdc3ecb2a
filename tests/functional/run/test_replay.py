"""A run is recorded, and replayed without its model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench, bare_environment, bench_in

pytestmark = pytest.mark.slow(25)

OF_ONE_RUN = {"run_id", "server_url", "timestamp", "trial", "first", "first_trials"}
"""Names, addresses and moments, and which trials were the first of their workers, which is said for their times."""

TIMES = ("wall_time", "model_time", "tool_time", "framework_time", "waiting_time", "evaluation_time", "started_at")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path, bare_environment(tmp_path))


def without_times(value: Any) -> Any:
    """A document, or a part of it, without what is of one run alone: its times, its name and its addresses."""
    if isinstance(value, dict):
        return {name: without_times(one) for name, one in value.items() if not is_time(name)}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def is_time(name: str) -> bool:
    return name in OF_ONE_RUN or name.endswith(("_time", "_at"))


def scores(document: dict[str, Any]) -> list[Any]:
    """What a document says of each trial, without times."""
    return [
        {name: value for name, value in entry["scores"].items() if name not in TIMES}
        | {"answer": entry["final_answer"]}
        for entry in document["results"]
    ]


def test_a_replay_needs_no_model_and_gives_what_the_model_gave(bench: Bench, tmp_path: Path) -> None:
    chosen = [part for spoken in ("", "-messages", "-responses") for part in ("-f", f"reference{spoken}")]
    recorded = json.loads(bench("run", *chosen, "--model", "scripted:gold", "--limit", 3, "--json").out)
    written = bench("record", "latest", "-o", "a.cassette").out
    assert "answers of scripted:gold" in written
    first, second = (
        json.loads(bench("run", *chosen, "--model", "replay:a.cassette", "--limit", 3, "--json", "-j", jobs).out)
        for jobs in (1, 3)
    )
    assert [*map(scores, first)] == [*map(scores, second)] == [*map(scores, recorded)]
    assert without_times(first) == without_times(second)
    assert bench("replay", "latest").out.count("3 of 3 trials follow the recording to the end") == 3
    for document in first:
        assert [entry["scores"]["model_time"] for entry in document["results"]] == [None] * 3
    assert len({documents[0]["metadata"]["run_id"] for documents in (first, second)}) == 2


def test_a_trial_that_leaves_the_recording_is_not_measured_and_says_why(bench: Bench) -> None:
    bench("run", "--model", "scripted:gold", "--limit", 2)
    bench("record", "latest", "-o", "a.cassette")
    ended = bench("run", "--model", "replay:a.cassette", "--limit", 2, "--temperature", 0.5, code=3)
    assert "is not the recorded one: temperature: 0 → 0.5" in ended.out + ended.err
    said = bench("replay", "latest").out
    assert "0 of 2 trials follow the recording to the end" in said
    assert "2 leave it, first at task 1, request 1 of 1: temperature: 0 → 0.5" in said
    assert (
        "there is neither a file 'b.cassette' nor such a run"
        in bench("run", "--model", "replay:b.cassette", code=2).err
    )


MODEL = """
import itertools
from trialbed.wire import Call

numbers = itertools.count(1)


class Noisy:
    def answer(self, request):
        number = next(numbers)
        with open("asked", "a") as file:
            file.write("x")
        if len(request.messages) > 2:
            return f"answer {number} " + "long " * 300_000
        return [Call(request.tools[number % len(request.tools)].name, "{}")]
"""


def test_a_noisy_model_is_asked_once_and_its_long_answers_are_not_recorded(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text(MODEL)
    run = ("run", "--model", "noisy.py:Noisy", "--model-cache", "answers.db", "--limit", 2, "--json")
    (first,) = json.loads(bench(*run).out)
    asked = len((tmp_path / "asked").read_text())
    assert asked == first["summary"]["totals"]["model_requests"]
    (second,) = json.loads(bench(*run, "--tag", "again").out)
    assert len((tmp_path / "asked").read_text()) == asked, "the model was asked again"
    assert second["summary"]["totals"]["recorded_requests"] == asked
    assert scores(first) == scores(second)
    assert "longer than the log keeps" in bench("record", "latest", "-o", "cut.cassette").err


STAMPED = """
import itertools, json, sys, urllib.request, os, time

task = json.load(sys.stdin)
said = {"role": "user", "content": f"{task['query']} Now: {time.time()}"}
stamp = {"model": os.environ["OPENAI_MODEL"], "messages": [said]}
headers = {"content-type": "application/json", "authorization": "Bearer x"}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
reply = json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(stamp).encode(), headers)))
print(reply["choices"][0]["message"]["content"])
"""


def test_what_varies_between_repeats_is_offered_as_a_mask_and_shown_with_the_replay(
    bench: Bench, tmp_path: Path
) -> None:
    (tmp_path / "stamped.py").write_text(STAMPED)
    run = ("run", "--command", f"{sys.executable} {tmp_path}/stamped.py", "--limit", 1, "--repeat", 2)
    bench(*run, "--model", "scripted:gold")
    offered = bench("record", "latest", "-o", "a.cassette").err
    assert offered.splitlines()[-1] == "  bench record latest -o a.cassette --ignore time"
    bench("record", "latest", "-o", "b.cassette", "--ignore", "time")
    assert "--ignore time makes a recording that has it" in bench(*run, "--model", "replay:a.cassette", code=3).out
    bench(*run, "--model", "replay:b.cassette")
    assert "the recording ignores in requests: time" in " ".join(bench("show", "latest", "--full").out.split())
    assert "2 of 2 trials follow the recording to the end" in bench("replay", "latest").out
    assert "'times' is neither" in bench("record", "latest", "-o", "c", "--ignore", "times", code=2).err


def test_a_recorded_real_model_comes_with_trialbed(bench: Bench) -> None:
    """It is stale if a framework, the tools or the dataset changed. Record it again in half an hour, with the weights:

    bench run --model local:qwen2.5-coder-0.5b --limit 3 --timeout 3600 --yes --profile native --profile controlled \
        -f reference -f langgraph -f crewai -f autogen -f openai-agents -f agno
    bench record latest -o plugins/trialbed_plugins/recordings/embedded/qwen2.5-coder-0.5b.cassette
    """
    assert "replay:qwen2.5-coder-0.5b" in bench("models").out
    labels = ("reference", "langgraph", "langgraph:controlled")
    chosen = [part for label in labels for part in ("--framework", label)]
    documents = bench("run", "--model", "replay:qwen2.5-coder-0.5b", "--limit", 3, *chosen, "--json").documents
    followed = bench("replay", "latest").out
    assert followed.count("3 of 3 trials follow the recording to the end") == len(labels), followed
    for document in documents:
        assert document["metadata"]["model"] == "replay:qwen2.5-coder-0.5b"
        assert all(entry["scores"]["total_tokens"] > 2000 for entry in document["results"])
        assert [entry["scores"]["sopr_score"] for entry in document["results"]] == [0, 0, 0]
