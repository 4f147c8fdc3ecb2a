from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed.installed import extra_command
from trialbed_plugins.model_adapters import GenericAdapter, KimiAdapter

BEGIN, END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"


def call(identity: str, arguments: str = "{}") -> str:
    return f"<|tool_call_begin|>{identity}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"


def calls(text: str) -> list[tuple[str, str, str]]:
    _, found = KimiAdapter().calls_of(text)
    return [(made["id"], made["function"]["name"], made["function"]["arguments"]) for made in found]


@for_each("model", ["kimi-k2", "Moonshot-v1", "moonshotai/Kimi-K2-Instruct"])
def test_the_family_is_recognised_by_its_names(model: str) -> None:
    assert KimiAdapter.recognises(model)
    assert not GenericAdapter.recognises(model)


A, B = ("functions.a:0", "a", "{}"), ("functions.b:1", "b", "{}")


@for_each(
    ("text", "found"),
    [
        (f"a{BEGIN}{call(A[0])}{END}b", [A]),
        (f"{BEGIN} {call(' functions.get-it:12 ', ' [1] ')} {END}", [("functions.get-it:12", "get-it", "[1]")]),
        (f"{BEGIN}{call('functions.a.b:0')}{END}", [("functions.a.b:0", "a.b", "{}")]),
        (f"{BEGIN}{call(A[0])}{call(B[0])}{END}", [A, B]),
        (f"{BEGIN}{call(A[0])}{END}{BEGIN}{call(B[0])}{END}", [A, B]),
        (f"{BEGIN}{call('nodot:0')}{END}", []),
        (f"{BEGIN}{call(A[0])[:-5]}{END}", []),
        (f"{BEGIN}{call(A[0])}", []),
        (call(A[0]), []),
        ("", []),
    ],
)
def test_calls_are_found_in_complete_sections(text: str, found: list[tuple[str, str, str]]) -> None:
    assert calls(text) == found


@pytest.fixture
def transformers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A library of tokenizers that notes how it is used."""
    module = ModuleType("transformers")
    module.loaded = []  # type: ignore[attr-defined]

    class Tokenizer:
        @classmethod
        def from_pretrained(cls, name: str, *, trust_remote_code: bool) -> Tokenizer:
            if name == "missing":
                raise OSError("no such folder")
            module.loaded.append((name, trust_remote_code))  # type: ignore[attr-defined]
            return cls()

        def apply_chat_template(self, messages: Any, tools: Any, **asked: bool) -> str:
            return f"{messages} {tools} {asked}"

    module.AutoTokenizer = Tokenizer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", module)
    return module


def test_the_prompt_is_the_chat_template_without_running_foreign_code(transformers: ModuleType) -> None:
    adapter = KimiAdapter()
    prompts = {adapter.prompt([{"role": "user"}], [{"type": "function"}], "some/folder") for _ in range(3)}
    assert prompts == {"[{'role': 'user'}] [{'type': 'function'}] {'tokenize': False, 'add_generation_prompt': True}"}
    assert transformers.loaded == [("some/folder", False)], "it is loaded once"


def test_code_of_a_tokenizer_runs_only_if_it_is_trusted(transformers: ModuleType) -> None:
    for adapter in (KimiAdapter(), GenericAdapter()):
        adapter.prompt([], None, "plain")
        adapter.trust_tokenizer_code = True
        adapter.prompt([], None, "with-code")
    assert transformers.loaded == [("plain", False), ("with-code", True)]
    with pytest.raises(UsageError, match="--trust-tokenizer-code"):
        KimiAdapter().prompt([], None, "missing")


def test_without_the_library_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UsageError, match=re.escape(extra_command("raw"))):
        KimiAdapter().prompt([], None, "x")
