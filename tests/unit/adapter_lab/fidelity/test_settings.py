from __future__ import annotations

from typing import Any

from support.fidelity import model_call, observed, request

from trialbed_adapter_lab.fidelity.traffic import Settings, settings_of


def settings(*requests: dict[str, Any], **asked: Any) -> Settings:
    return settings_of(observed(*(model_call(request(**fields)) for fields in requests)), asked)


def test_a_setting_is_honoured_if_every_request_has_it() -> None:
    (found,) = settings({"seed": 4}, {"seed": 4}, seed=4).settings
    assert found.honoured
    assert (found.sent, found.absent) == ((4,), 0)


def test_another_value_or_none_is_not_what_was_asked_for() -> None:
    (one,) = settings({"seed": 4}, {"seed": 5}, seed=4).settings
    assert (one.honoured, one.sent) == (False, (4, 5))
    (two,) = settings({"seed": 4}, {}, seed=4).settings
    assert (two.honoured, two.sent, two.absent) == (False, (4,), 1)
    (three,) = settings({}, seed=4).settings
    assert (three.honoured, three.sent, three.absent) == (False, (), 1)


def test_true_is_not_one() -> None:
    (found,) = settings({"n": True}, n=1).settings
    assert not found.honoured


def test_fields_that_nobody_asked_for_are_listed_with_all_their_values() -> None:
    found = settings({"seed": 4, "stream": False, "max_completion_tokens": 3}, {"seed": 4, "stream": True}, seed=4)
    assert found.others == {"max_completion_tokens": (3,), "model": ("scripted:gold",), "stream": (False, True)}


def test_a_setting_has_its_dialects_name_and_one_that_it_lacks_is_not_asked_for() -> None:
    body = {"model": "m", "input": [], "instructions": "Do.", "max_output_tokens": 3, "include": []}
    seen = observed(model_call(body, dialect="responses"))
    found = settings_of(seen, {"model": "m", "seed": 4, "max_tokens": 3})
    assert [(one.name, one.honoured) for one in found.settings] == [("model", True), ("max_tokens", True)]
    assert found.others == {"include": ([],)}
