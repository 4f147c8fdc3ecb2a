"""Tool calls in a text in any form, recognised by the names on offer."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from trialbed.wire._text_calls import (
    LONGEST,
    LONGEST_CODE,
    MARKED,
    MOST,
    THOUGHTS,
    call_places,
    in_parentheses,
    python_arguments,
)

NEAR = 400
"""Characters behind a name in which its arguments begin."""

BEFORE = 120
"""Characters before a name that show whether it is called."""

TOOL_WORDS = (
    r"(?:next_)?tool(?:_?name|[_ ]calls?)?|function(?:_?name|[_ ]call)?|name|action|recipient\w*|call|invoke|to"
)
INPUT_WORDS = (
    r"arguments?|parameters?|params?|args|kwargs|\w+_(?:input|args|arguments)|(?:action )?input|json|code|with|and"
)
TYPE_WORDS = r"string|str|int|integer|number|float|bool|boolean|object|array|list|dict|any|required|optional|text"
HTML = re.compile(r"a|abbr|b|br|code|dd|div|dt|em|font|h\d|i|kbd|li|mark|ol|p|pre|s|small|span|strong|td|th|u|ul", re.I)
LEAD = re.compile(
    rf"""(?:
      <(?P<element>[^<>\s/]{{1,40}})(?:[^\S\n][^<>]{{0,80}})?>\s*(?:print\(|\[)*  # behind a tag or token
    | (?P<mark><[^<>\s]{{0,40}}|<[^<>\n]{{1,80}}=\s*["']?|\[/?[A-Z_]{{2,30}}\]\s*)  # in a tag; behind [TOKEN]
    | (?P<key>(?<![\w-])(?i:{TOOL_WORDS})[\\"'*\u273f]*\s*[:=]\s*[\\"'*`]*\s*)  # "name": "NAME"; Action: NAME
    | (?P<object>\{{\s*\\*["'])  # {{"NAME": …}}
    | (?P<line>(?:\A|\n|[.!]\s)[ \t]*(?:print\(|await[ ]|[\[(/]|(?i:calling)[ ])*)  # at the beginning of a line
    )(?:(?:functions?|tools?|default_api|api)[.:])?\Z""",
    re.VERBOSE,
)
"""The marks before the name of a tool that is called."""

GAP = re.compile(
    rf"""(?:\.(?:call|invoke|run)\b)?
    (?:<[^<>]{{1,60}}>|\[[A-Z_]{{2,30}}\]|[\s"'`,;:=|>*\]\\\d\u273f-]|\b(?i:{INPUT_WORDS})\b)*""",
    re.VERBOSE,
)
"""The characters between a name and the bracket that holds its arguments."""

KEY = re.compile(
    rf"""(?:<[^<>\s]{{0,30}}key>\s*|\b(?:name|key)=["']?|parameter=|(?P<bare><))(?P<tag>[\w.-]{{1,64}})(?=["'\s>]|</)
    |(?<![\w./-])(?P<pair>[\w.-]{{1,64}})[\\"']*[^\S\n]*[:=](?![=/])(?!\s*[\\"'<]*(?:{TYPE_WORDS})\b)""",
    re.VERBOSE,
)
"""The name of an argument that gets a value: <city>, name="city", arg_key>city<, "city":, city=."""

SCHEMA = re.compile(r'"properties"|"type"\s*:\s*"(?:object|string|integer|number)"')
PLACEHOLDER = re.compile(rf"<[^<>]*>|\.+|\u2026|\[.*\]|\{{.*\}}|(?i:{TYPE_WORDS})?", re.DOTALL)
HEDGE = re.compile(
    r"\b(?:would|could|might|examples?|e\.g|looks? like|such as|syntax|usage|format|signature|schema|template|instead|"
    r"not|never|unless|before|earlier|log|called|used|ran|made|sent|wrote|returned|failed|results?|\w+n't)\b(?![^.!?]*[.!?]\s)",
    re.IGNORECASE,
)
"""Words in a sentence that speaks of a call instead of making it."""

RESULT = re.compile(
    r"[\s\])`*]*(?:[\u2192=#|:-]|(?i:(?:the )?(?:results?|returns|returned|outputs?|response|observation|error|got)\b))"
)
"""The result of a call, or what else is said of it, behind it."""

LINE_END = re.compile(r"[\s\])`;,]*(?:\Z|<|```)|[\])`;,]*[^\S\n]*\n")
CLOSED = re.compile(r"\s*(?:/>|</|<\||<\uff5c|\[[A-Z_]{2,30}\]|>\s*</)")
META = frozenset(("id", "type", "arguments", "parameters", "args", "input", "tool_input", "action_input"))
"""Keys of a call other than its arguments."""


class WrittenCall(NamedTuple):
    """A call in a text.

    Attributes:
        place: where the call, or the name of its tool, begins.
        arguments: as JSON; None if they could not be read.
    """

    name: str
    place: int
    arguments: str | None


def written_call(text: str, tools: Mapping[str, Collection[str]]) -> WrittenCall | None:
    """Return the first call in a text, in any form: the names on offer make it a call, not the marks of a parser.

    A call is the name of a tool with a mark before it and with its arguments, by their names, behind it. A text that
    speaks of a tool, of its schema or of an earlier call has none.

    Args:
        tools: tool name -> names of its arguments.
    """
    names = [name for name in tools if name and name in text]
    if not names:
        return None
    text = THOUGHTS.sub(lambda found: " " * len(found[0]), text)
    known = (
        WrittenCall(call.name, place, call.arguments)
        for place, call in call_places(text[:LONGEST], names)
        if MARKED.search(text, max(0, place - 40), place) or not _is_told(text, place)
    )
    found = [one for one in (next(known, None), next(_by_names(text, names, tools), None)) if one is not None]
    return min(found, key=lambda one: one.place, default=None)


def _by_names(text: str, names: Collection[str], tools: Mapping[str, Collection[str]]) -> Iterator[WrittenCall]:
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})(?![\w-])")
    for match in islice(pattern.finditer(text), MOST):
        lead = LEAD.search(text, max(0, match.start() - BEFORE), match.start())
        if lead is None or HTML.fullmatch(lead["element"] or ""):
            continue
        is_marked = lead["element"] is not None or lead["mark"] is not None
        if not is_marked and _is_told(text, match.start()):
            continue
        arguments = _arguments(text, match.end(), tools[match[0]], lead, is_marked=is_marked)
        if arguments is not None:
            yield WrittenCall(match[0], match.start(), arguments or None)


def _is_told(text: str, place: int) -> bool:
    """Return whether the words before a place speak of a call."""
    return HEDGE.search(text, max(0, place - BEFORE), place) is not None


def _arguments(text: str, end: int, wanted: Collection[str], lead: re.Match[str], *, is_marked: bool) -> str | None:
    """Return the arguments behind a name; "" if it is called and they cannot be read, None if it is not called."""
    near = text[end : end + NEAR]
    at = len(GAP.match(near)[0])  # type: ignore[index]
    opening = near[at : at + 1]
    if SCHEMA.search(near, 0, 160) or ("description" in near[:160] and "description" not in wanted):
        return None
    if opening == "{" or (opening == "(" and near[:at] in ("", ".call", ".invoke", ".run")):
        code = in_parentheses(text[end + at : end + at + LONGEST_CODE])
        behind = end + at + len(code)
        if not is_marked and (RESULT.match(text, behind) or (opening == "(" and not LINE_END.match(text, behind))):
            return None
        inner = code if opening == "{" else code[1:].lstrip()
        value = _value(inner if inner.startswith("{") else python_arguments(code))
        if isinstance(value, dict):
            given = [key for key, one in value.items() if not (isinstance(one, str) and PLACEHOLDER.fullmatch(one))]
        else:
            given = _keys(code[:NEAR], "tag", "pair")
        right = [key for key in given if key in wanted]
        if value == {} and not wanted and lead["object"] is None:
            return "{}"
        if not right or (len(right) < len(given) and not is_marked):
            return None
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else ""
    return _pairs(near, wanted, lead, is_marked=is_marked)


def _pairs(near: str, wanted: Collection[str], lead: re.Match[str], *, is_marked: bool) -> str | None:
    """Return "" if arguments stand behind a name as tags or as lines and words with their values; else None."""
    if not wanted and is_marked and CLOSED.match(near):
        return "{}"
    begun = (lead["line"] or "").strip()[-1:]
    block = near if is_marked else re.split(r"\n\s*\n|\}" if lead["key"] else "\n", near)[0]
    pairs, right = set(_keys(block, "pair")), set(wanted)
    is_call = bool(pairs & right) and (is_marked or ((lead["key"] or begun in ("/", "[")) and pairs <= right | META))
    return "" if is_call or right.intersection(_keys(near, "tag")) else None


def _keys(text: str, *forms: str) -> list[str]:
    """Return the names that get a value in a text; an empty tag gives none."""
    found = (one for one in KEY.finditer(text) if not one["bare"] or f"</{one['tag']}" in text)
    return [one[form] for one in found for form in forms if one[form]]


def _value(code: str) -> Any:
    """Return the value at the beginning of a text as JSON; None if it is not JSON, also if its quotes are escaped."""
    for text in (code, code.replace('\\"', '"')):
        try:
            return json.JSONDecoder().raw_decode(text)[0]
        except (ValueError, RecursionError):
            continue
    return None
