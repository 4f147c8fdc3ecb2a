from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed_scripted import FAULTS, FaultScript, ReceivedRequest
from trialbed_scripted.vendor import ANSWERS


def request(number: int = 0, attempt: int = 0) -> ReceivedRequest:
    return ReceivedRequest(number, {}, b"%d" % number, attempt=attempt)


def names(text: str) -> list[str]:
    script = FaultScript.read(text)
    return [script.fault(request(attempt=attempt)).name for attempt in range(4)]


def test_the_last_step_is_met_for_ever() -> None:
    assert names("status:429, reset_before ,none") == ["status", "reset_before", "none", "none"]
    assert names("none") == ["none"] * 4
    assert names('{"mix": {"status": 1}}') == ["status"] * 4


@for_each("name", FAULTS)
def test_every_fault_can_be_named_and_has_its_defaults(name: str) -> None:
    assert FaultScript.read(name).fault(request()).settings == FAULTS[name].settings


@for_each(
    ("text", "settings"),
    [
        ("status:503", {"status": 503, "retry_after": 0.0}),
        ('[{"fault": "status", "status": 429, "retry_after": 2}]', {"status": 429, "retry_after": 2}),
        ("slow:0.5", {"seconds": 0.5}),
        ("finish:content_filter", {"reason": "content_filter"}),
        ("echo_key:403", {"status": 403}),
    ],
)
def test_settings_are_given_after_the_name_or_beside_it(text: str, settings: dict[str, Any]) -> None:
    assert FaultScript.read(text).fault(request()).settings == settings


def test_a_mix_is_drawn_by_weight_and_always_alike() -> None:
    text = json.dumps({"mix": {"none": 3, "status:500": 1}, "seed": 5})
    script, again = FaultScript.read(text), FaultScript.read(text)
    drawn = [script.fault(request(number)) for number in range(400)]
    assert drawn == [again.fault(request(number)) for number in range(400)]
    assert 60 < Counter(fault.name for fault in drawn)["status"] < 140
    other = FaultScript.read(json.dumps({"mix": {"none": 3, "status:500": 1}, "seed": 6}))
    assert drawn != [other.fault(request(number)) for number in range(400)]


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"steps": ["html"], "answers": {"gap": 0.5}}')
    script = FaultScript.read(str(path))
    assert script.fault(request()).name == "html"
    assert script.answers == {**{key: setting.default for key, setting in ANSWERS.items()}, "gap": 0.5}


@for_each(
    ("text", "message"),
    [
        ("statuz", "there is no fault 'statuz'; did you mean 'status'?"),
        ("cut_strem", "there is no fault 'cut_strem'; did you mean 'cut_stream'?"),
        ("", "there is no fault ''; the faults are none, status,"),
        ("html:1", "html has no settings"),
        ("status:abc", "status must be a number, not 'abc'"),
        ("status:4.5", "status: status must be a value such as 500"),
        ("slow:-1", "must not be negative"),
        ("status:200", "status: status must be that of an HTTP error, 400 to 599"),
        ('{"mix": {}}', "mix: must name a fault"),
        ('{"answers": {"share": 2}}', "answers: share must be a share from 0 to 1"),
        ("slow:true", "must be a value such as 1.0"),
        ("[]", "steps must be a list of faults"),
        ("[5]", "5 is not a fault"),
        ('[{"status": 500}]', "is not a fault"),
        ('[{"fault": "status", "colour": 1}]', "status: unknown key 'colour'; the keys are status, retry_after"),
        ('{"mix": []}', "mix an object"),
        ('{"mix": {"none": 0}}', "weight of none must be above 0"),
        ('{"mix": {"none": "often"}}', "mix: none must be a value such as 1.0"),
        ('{"answers": {"speed": 1}}', "answers: unknown key 'speed'"),
        ('{"answers": 5}', "answers: must be an object"),
        ('{"seed": "x"}', "seed must be a value such as 0"),
        ('{"step": []}', "the script: unknown key 'step'; the keys are seed, steps, mix, answers"),
        ("{oops", "--faults {oops"),
        ("nowhere.json", "nowhere.json: cannot be read"),
    ],
)
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        FaultScript.read(text)
    assert str(caught.value).startswith(f"--faults {text}: ")
    assert message in str(caught.value)
