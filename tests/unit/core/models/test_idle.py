"""Settings that change nothing are named."""

from __future__ import annotations

from typing import Any

from support.cases import for_each

from trialbed.models._settings import idle_settings
from trialbed.settings import RunSettings


@for_each(
    ("settings", "read", "at_endpoint", "said"),
    [
        ({"rpm": 5}, (), False, ["--rpm 5 changes nothing: no model of this run is at an endpoint"]),
        ({"rpm": 5, "tpm": 9}, (), True, []),
        (
            {"on_miss": "ask"},
            ("chat_template",),
            False,
            ["--on-miss ask changes nothing: it is for recorded models, and no model of this run is one"],
        ),
        ({"on_miss": "ask"}, ("on_miss",), False, []),
        (
            {"chat_template": "own"},
            (),
            True,
            [
                "--chat-template own changes nothing: it is for models on this machine that Trialbed starts, and no "
                "model of this run is one"
            ],
        ),
        ({}, (), False, []),
    ],
)
def test_a_setting_that_nothing_reads_is_named(
    settings: dict[str, Any], read: tuple[str, ...], at_endpoint: bool, said: list[str]
) -> None:
    assert list(idle_settings(RunSettings(**settings), read, at_endpoint=at_endpoint)) == said
