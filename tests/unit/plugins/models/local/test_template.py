"""Which chat template a local model gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jinja2.sandbox import SandboxedEnvironment

from trialbed.errors import UsageError
from trialbed_plugins.models.local._weights import choose_template

TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
USER = {"role": "user", "content": "Weather in Lima?"}
ASKED = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Lima"}}}],
}
RESULT = {"role": "tool", "content": "19 degrees"}


@pytest.mark.parametrize(
    ("model", "chosen"),
    [
        ("qwen2.5-coder-0.5b", "function-call"),
        ("Qwen2.5-Coder-7B-Instruct-Q4_K_M.gguf", "function-call"),
        ("smollm2-135m", "function-call"),
        ("qwen2.5-7b-instruct.gguf", "own"),
    ],
)
def test_a_model_keeps_its_own_template_unless_that_parses_no_call(model: str, chosen: str) -> None:
    assert choose_template("auto", model)[0] == chosen


def test_a_template_is_taken_by_name_or_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.jinja"
    file.write_text("{{ messages }}")
    assert choose_template("own", "m") == ("own", None)
    assert choose_template(str(file), "m") == ("mine.jinja", "{{ messages }}")


def test_a_template_that_is_not_there_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"neither a template nor a file 'function_call'; did you mean 'function-call'"
    ):
        choose_template("function_call", "m")


def render(*messages: dict[str, Any], tools: Any = None) -> str:
    text = choose_template("function-call", "m")[1]
    assert text is not None
    template = SandboxedEnvironment().from_string(text)
    return template.render(messages=messages, tools=tools, add_generation_prompt=True)


def test_ours_shows_the_tools_first_so_that_the_next_conversation_shares_them() -> None:
    system = {"role": "system", "content": "Be brief."}
    first, other = (render(system, {**USER, "content": text}, tools=[TOOL]) for text in ("A", "B"))
    shared = first[: next(place for place, pair in enumerate(zip(first, other, strict=True)) if pair[0] != pair[1])]
    assert shared.startswith("<|im_start|>system\nBe brief.\n\n# Tools")
    assert '"name": "get_weather"' in shared
    assert shared.endswith("<|im_start|>user\n")
    assert "# Tools" not in render(USER)


def test_ours_writes_calls_as_it_asks_for_them_and_lets_the_model_answer_after_results() -> None:
    text = render(USER, ASKED, RESULT, RESULT, tools=[TOOL])
    assert '<function_call>\n{"name": "get_weather", "arguments": {"city": "Lima"}}\n</function_call><|im_end|>' in text
    assert text.count("<|im_start|>user") == 2
    assert text.count("<tool_response>\n19 degrees") == 2
    assert "answer my request now" in text
    assert "answer my request now" not in render(USER, ASKED, RESULT, {"role": "assistant", "content": "19."}, USER)
