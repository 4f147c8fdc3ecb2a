"""The prompts of an installed copy of StableToolBench."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from trialbed.errors import UsageError

EVALUATOR = "tooleval_gpt-3.5-turbo_default"
"""The evaluator that StableToolBench scores with."""

PLACES = ("template.txt", f"{EVALUATOR}/template.txt", f"toolbench/tooleval/evaluators/{EVALUATOR}/template.txt")
"""The path of the template from the folder of the evaluator, of all evaluators, or of the checkout."""

REPLY_FORM = """\
Reply with one JSON object and nothing else:
{"reason": "<one or two sentences>", "answer_status": "Solved" | "Unsure" | "Unsolved"}"""

_FUNCTION = re.compile(r"<function>\s*<name>(.*?)</name>\s*<description>(.*?)</description>\s*</function>", re.DOTALL)
_FIELD = re.compile(r"\{\{|\}\}|\{query\}|\{answer\}")


@dataclass(frozen=True)
class Prompts:
    """The two prompts of the pass rate: for the final answer alone, and for all steps."""

    check: str
    parse: str

    def messages(self, template: str, query: str, answer: str) -> list[dict[str, str]]:
        """The conversation for one of them. The original asks for a function call; here, the reply is its arguments."""
        values = {"{{": "{", "}}": "}", "{query}": query, "{answer}": answer}
        text = _FIELD.sub(lambda field: values[field[0]], template)
        return [{"role": "system", "content": REPLY_FORM}, {"role": "user", "content": text}]


def read_prompts(folder: Path) -> Prompts:
    """Return the prompts of a copy of StableToolBench.

    Args:
        folder: of the checkout, of its evaluators, or of the evaluator.

    Raises:
        UsageError: there are none.
    """
    path = next((folder / place for place in PLACES if (folder / place).is_file()), None)
    if path is None:
        raise UsageError(
            f"--judge-prompts {folder}: there is no {EVALUATOR}/template.txt; name a checkout of StableToolBench, or "
            "leave the option out to use Trialbed's prompts"
        )
    found = {name.strip(): text for name, text in _FUNCTION.findall(path.read_text(encoding="utf-8", errors="replace"))}
    try:
        return Prompts(found["check_answer_status"], found["parse_answer_status"])
    except KeyError as error:
        raise UsageError(f"--judge-prompts: {path} has no prompt {error}; is it StableToolBench's?") from error
