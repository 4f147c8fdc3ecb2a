"""Mutants of what the model is sent: prompt, query, conversation."""

from __future__ import annotations

import html
import re
import string
import unicodedata

from support.mutants._mutant import at


def _change(request, role, change):
    """Change the text of the messages of a role."""
    messages = [
        {**message, "content": change(message["content"])}
        if message["role"] == role and message["content"]
        else message
        for message in request["messages"]
    ]
    return {**request, "messages": messages}


@at("request", "the system prompt loses the blanks around it")
def strips_the_prompt(_, request):
    return _change(request, "system", str.strip)


@at("request", "the query loses the blanks around it")
def strips_the_query(_, request):
    return _change(request, "user", str.strip)


@at("request", "the system prompt's letters are composed anew")
def composes_the_prompt(_, request):
    return _change(request, "system", lambda text: unicodedata.normalize("NFC", text))


@at("request", "the query's letters are composed anew")
def composes_the_query(_, request):
    return _change(request, "user", lambda text: unicodedata.normalize("NFC", text))


@at("request", "the query's line ends are rewritten")
def rewrites_line_ends_of_the_query(_, request):
    return _change(request, "user", lambda text: text.replace("\r\n", "\n"))


@at("request", "the prompt's line ends are rewritten")
def rewrites_line_ends_of_the_prompt(_, request):
    return _change(request, "system", lambda text: text.replace("\r\n", "\n"))


@at("request", "blank lines of the prompt are squashed")
def squashes_blank_lines_of_the_prompt(_, request):
    return _change(request, "system", lambda text: re.sub(r"\n{2,}", "\n", text))


@at("request", "blanks in the query are squashed")
def squashes_blanks_of_the_query(_, request):
    return _change(request, "user", lambda text: re.sub(r"[ \t]+", " ", text))


@at("request", "a long system prompt is cut off")
def cuts_long_prompts(_, request):
    return _change(request, "system", lambda text: text[:20_000])


@at("request", "a long query is cut off")
def cuts_long_queries(_, request):
    return _change(request, "user", lambda text: text[:30_000])


@at("request", "tabs of the query become blanks")
def expands_tabs(_, request):
    return _change(request, "user", str.expandtabs)


@at("request", "letters outside of ASCII are dropped from the prompt")
def keeps_ascii_of_the_prompt(_, request):
    return _change(request, "system", lambda text: text.encode("ascii", "ignore").decode())


@at("request", "braces of the prompt are doubled")
def doubles_braces(_, request):
    return _change(request, "system", lambda text: text.replace("{", "{{").replace("}", "}}"))


@at("request", "the query is escaped as HTML")
def escapes_the_query(_, request):
    return _change(request, "user", lambda text: html.escape(text, quote=False))


@at("request", "the query's dollar signs are taken for a template")
def fills_templates(_, request):
    return _change(request, "user", lambda text: string.Template(text).safe_substitute())


@at("request", "zero-width characters are dropped from the query")
def drops_invisible_characters(_, request):
    return _change(request, "user", lambda text: re.sub("[\u200b-\u200f\u2028-\u202e\u2060\ufeff]", "", text))


@at("request", "what looks like an address of e-mail is masked in the query")
def masks_addresses(_, request):
    return _change(request, "user", lambda text: re.sub(r"\S+@\S+", "[address]", text))


@at("request", "a word of the framework's own ends the system prompt from the second turn on")
def adds_to_the_prompt_later(self, request):
    return _change(request, "system", lambda text: text + (" Continue." if self.turn > 1 else ""))


@at("request", "the model is told to remember the task every seven turns")
def reminds_every_seven_turns(self, request):
    more = [{"role": "user", "content": "Remember the task."}] if self.turn % 7 == 0 else []
    return {**request, "messages": [*request["messages"], *more]}


@at("request", "the query comes again after each result")
def repeats_the_query(self, request):
    more = [{"role": "user", "content": self.query}] if self.turn > 1 else []
    return {**request, "messages": [*request["messages"], *more]}


@at("request", "turns before the last twenty-five are dropped")
def keeps_twenty_five_turns(_, request):
    messages = request["messages"]
    return {**request, "messages": messages if len(messages) <= 52 else [*messages[:2], *messages[-50:]]}


@at("request", "turns before the last fifty are dropped")
def keeps_fifty_turns(_, request):
    messages = request["messages"]
    return {**request, "messages": messages if len(messages) <= 102 else [*messages[:2], *messages[-100:]]}


@at("request", "the oldest turn is dropped where the conversation is longer than 150,000 characters")
def keeps_a_budget_of_characters(_, request):
    messages = request["messages"]
    while sum(len(message["content"] or "") for message in messages[2:]) > 150_000:
        messages = [*messages[:2], *messages[4:]]
    return {**request, "messages": messages}


@at("request", "results beyond 100,000 characters in sum are cut short")
def keeps_a_budget_of_results(_, request):
    left, messages = 100_000, []
    for message in request["messages"]:
        if message["role"] == "tool":
            message = {**message, "content": message["content"][: max(left, 0)]}
            left -= len(message["content"])
        messages.append(message)
    return {**request, "messages": messages}


@at("request", "the system prompt comes last from the third turn on")
def moves_the_prompt(self, request):
    first, *rest = request["messages"]
    return {**request, "messages": [*rest, first] if self.turn > 2 else [first, *rest]}


@at("request", "the system prompt comes twice from the second turn on")
def doubles_the_prompt(self, request):
    messages = request["messages"]
    return {**request, "messages": [messages[0], *messages] if self.turn > 1 else messages}


@at("request", "the system prompt is left out after a failed call")
def drops_the_prompt_after_errors(_, request):
    messages = request["messages"]
    failed = str(messages[-1]["content"]).startswith("Error")
    return {**request, "messages": messages[1:] if failed else messages}


@at("request", "an apology is put into the model's mouth after a failed call")
def apologises_after_errors(_, request):
    messages = request["messages"]
    more = [{"role": "assistant", "content": "Sorry, let me try again."}]
    return {**request, "messages": [*messages, *more] if str(messages[-1]["content"]).startswith("Error") else messages}


@at("request", "failed calls are taken out of the conversation once they are two turns old")
def forgets_old_failures(_, request):
    messages = request["messages"]
    failed = {m["tool_call_id"] for m in messages[:-4] if m["role"] == "tool" and m["content"].startswith("Error")}
    kept = []
    for message in messages:
        calls = message.get("tool_calls") or []
        if message.get("tool_call_id") in failed or (calls and all(call["id"] in failed for call in calls)):
            continue
        kept.append(message)
    return {**request, "messages": kept}


@at("results", "results go back in the order of their texts")
def sorts_results(_, results):
    return sorted(results, key=lambda result: result["content"])


@at("results", "the results of a turn are put into one message")
def joins_results(_, results):
    text = "\n".join(result["content"] for result in results)
    return [{**results[0], "content": text}, *({**result, "content": "see above"} for result in results[1:])]


@at("results", "of more than eight results of a turn, the middle ones are left out")
def keeps_eight_results(_, results):
    return results if len(results) <= 8 else [*results[:4], *results[-4:]]


@at("results", "a result that came before is not repeated")
def refers_to_equal_results(self, results):
    earlier = {message["content"] for message in self.messages if message["role"] == "tool"}
    return [
        {**result, "content": "as before" if result["content"] in earlier else result["content"]} for result in results
    ]


@at("message", "what the model says next to its calls goes back without its line breaks")
def joins_lines_of_plans(_, message):
    return {**message, "content": " ".join(message["content"].split())} if message["content"] else message


@at("message", "a part between think tags does not go back")
def forgets_thoughts_in_text(_, message):
    text = message["content"]
    return {**message, "content": re.sub(r"<think>.*?</think>\s*", "", text, flags=re.DOTALL)} if text else message
