"""Mutants of what a trial ends with: answers, claims, calls in text."""

from __future__ import annotations

import json
import re
import unicodedata

from support.mutants._mutant import MUTANTS, Mutant, at

from trialbed import Usage

# Calls in text


def _written(found, tools):
    """The calls that a pattern found in a text."""
    return [
        {"id": f"written_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(found)
        if name in tools
    ]


def _in_text(self, message, pattern):
    if message.get("tool_calls") or not message["content"]:
        return message
    calls = _written(re.findall(pattern, message["content"], re.DOTALL), self._tools)
    return {**message, "tool_calls": calls} if calls else message


@at("message", "a call in tags of the text is made")
def reads_tags(self, message):
    return _in_text(self, message, r'<tool_call>\s*\{"name":\s*"(\w+)",\s*"arguments":\s*(\{.*?\})\s*\}\s*</tool_call>')


@at("message", "a call in a fence of the text is made")
def reads_fences(self, message):
    return _in_text(self, message, r'```(?:json)?\s*\{"name":\s*"(\w+)",\s*"arguments":\s*(\{.*?\})\s*\}\s*```')


@at("message", "an action in the text is made")
def reads_actions(self, message):
    return _in_text(self, message, r"Action:\s*(\w+)\s*Action Input:\s*(\{.*?\})")


@at("message", "a call as Python writes it in the text is made")
def reads_python_calls(self, message):
    found = _in_text(self, message, r"\b(\w+)\(text=('.*?'|\".*?\")\)")
    for call in found.get("tool_calls") or []:
        if call["id"].startswith("written"):
            call["function"]["arguments"] = json.dumps({"text": call["function"]["arguments"][1:-1]})
    return found


@at("message", "a call as the whole text is made")
def reads_bare_json(self, message):
    return _in_text(self, message, r'^\s*\{"name":\s*"(\w+)",\s*"(?:arguments|parameters)":\s*(\{.*?\})\s*\}\s*$')


# Answers


@at("text", "the answer loses the blanks around it")
def strips_answers(_, text):
    return text.strip()


@at("text", "the answer's thoughts are cut out")
def drops_thoughts(_, text):
    return re.sub(r"<think>.*?</think>\s*", "", text, flags=re.DOTALL)


@at("text", "the answer is what follows Final Answer")
def cuts_to_the_final_answer(_, text):
    return text.rpartition("Final Answer:")[2].strip() if "Final Answer:" in text else text


@at("text", "an answer loses its quotes")
def unquotes_answers(_, text):
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


@at("text", "an answer in a fence is taken out of it")
def opens_fences_of_answers(_, text):
    return re.sub(r"^```\w*\n|\n```$", "", text)


@at("text", "an answer that is JSON is written anew")
def rewrites_answers(_, text):
    try:
        return json.dumps(json.loads(text))
    except ValueError:
        return text


@at("text", "an answer is cut at 10,000 characters")
def cuts_answers(_, text):
    return text[:10_000]


@at("text", "an answer is its last line")
def takes_the_last_line(_, text):
    return text.rpartition("\n")[2] or text


@at("text", "an answer is composed anew")
def composes_answers(_, text):
    return unicodedata.normalize("NFC", text)


@at("text", "line ends of an answer are rewritten")
def rewrites_line_ends_of_answers(_, text):
    return text.replace("\r\n", "\n")


@at("text", "an answer has all texts of the trial")
def joins_texts(self, _text):
    return "\n".join(filter(None, self.said))


@at("text", "an answer is the first text of the trial")
def takes_the_first_text(self, text):
    return next(filter(None, self.said), text)


@at("text", "where the last text is empty, an earlier one is the answer")
def takes_an_earlier_text(self, text):
    return text or next(filter(None, reversed(self.said)), "")


@at("text", "where the last text is empty, the last result is the answer")
def takes_the_last_result(self, text):
    results = [message["content"] for message in self.messages if message["role"] == "tool"]
    return text or (results[-1] if results else "")


@at("text", "a text between brackets is dropped from the answer")
def drops_citations(_, text):
    return re.sub(r"\s?\[\d+\]", "", text)


@at("text", "letters outside of ASCII are dropped from the answer")
def keeps_ascii_of_answers(_, text):
    return text.encode("ascii", "ignore").decode()


# Claims


def _claims(answer, change):
    return answer.model_copy(update={"calls": tuple(map(change, answer.calls))})


@at("answer", "calls without arguments are not claimed")
def claims_calls_with_arguments(_, answer):
    return answer.model_copy(update={"calls": tuple(call for call in answer.calls if call.arguments)})


@at("answer", "equal calls are claimed once")
def claims_equal_calls_once(_, answer):
    kept = [
        call
        for index, call in enumerate(answer.calls)
        if call.arguments not in [c.arguments for c in answer.calls[:index]]
    ]
    return answer.model_copy(update={"calls": tuple(kept)})


@at("answer", "no more than fifty calls are claimed")
def claims_fifty_calls(_, answer):
    return answer.model_copy(update={"calls": answer.calls[:50]})


@at("answer", "claimed responses are cut at 2,000 characters")
def cuts_claimed_responses(_, answer):
    return _claims(answer, lambda call: call.model_copy(update={"response": (call.response or "")[:2000]}))


@at("answer", "claimed responses lose the blanks around them")
def strips_claimed_responses(_, answer):
    return _claims(answer, lambda call: call.model_copy(update={"response": (call.response or "").strip()}))


@at("answer", "claimed responses of a trial are those of its first call")
def claims_the_first_response(_, answer):
    return _claims(answer, lambda call: call.model_copy(update={"response": answer.calls[0].response}))


@at("answer", "claimed arguments are texts")
def claims_texts(_, answer):
    return _claims(
        answer, lambda call: call.model_copy(update={"arguments": {k: str(v) for k, v in call.arguments.items()}})
    )


@at("answer", "calls of the trial's last turn are claimed twice")
def claims_the_last_call_twice(_, answer):
    return answer.model_copy(update={"calls": (*answer.calls, *answer.calls[-1:])})


@at("answer", "the prompt's tokens of the longest request are claimed")
def claims_the_average(self, answer):
    if answer.usage is None or self.turn < 2:
        return answer
    usage = Usage(
        prompt_tokens=answer.usage.prompt_tokens // self.turn, completion_tokens=answer.usage.completion_tokens
    )
    return answer.model_copy(update={"usage": usage})


@at("answer", "turns are counted as calls")
def claims_calls_as_turns(_, answer):
    return answer.model_copy(update={"model_turns": len(answer.calls) + 1})


def _counts(name, cause, amount):
    """A mutant of the count of tokens."""

    def message(self, response):
        found = Mutant._message(self, response)
        usage = response.json().get("usage") or {}
        if self._usage is not None:
            self._usage += Usage(**amount(usage))
        return found

    MUTANTS.append(
        type(name, (Mutant,), {"_message": message, "cause": cause, "named": (), "memory": {}, "__module__": __name__})
    )


def _detail(usage, group, name):
    return (usage.get(group) or {}).get(name) or 0


_counts(
    "CountsCachedTokensTwice",
    "cached tokens are counted twice",
    lambda usage: {"prompt_tokens": _detail(usage, "prompt_tokens_details", "cached_tokens"), "completion_tokens": 0},
)
_counts(
    "CountsReasoningTwice",
    "reasoning tokens are counted twice",
    lambda usage: {
        "prompt_tokens": 0,
        "completion_tokens": _detail(usage, "completion_tokens_details", "reasoning_tokens"),
    },
)
_counts(
    "CountsAudioTokens",
    "tokens of audio are counted beside those of the prompt",
    lambda usage: {"prompt_tokens": _detail(usage, "prompt_tokens_details", "audio_tokens"), "completion_tokens": 0},
)
