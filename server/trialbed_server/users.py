"""A trial's user who answers the agent, by fixed rules, by a model, or by the program that runs the trial."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast
from unicodedata import category

from trialbed.errors import ModelFailed
from trialbed.evidence import carries
from trialbed.model_access import Unreadable, read_object
from trialbed.records import Api, ApiCall, ApiRef, Failure, GoldCall, Json, User, WireTurn
from trialbed.tool_calls import AskedCall, align_gold_calls
from trialbed.wire import parse_json
from trialbed_server.virtual.endpoint import ApiRecording

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess
    from trialbed_server.trials import OpenTrial
    from trialbed_server.virtual.resolver import Callbacks

LONGEST = 20_000
"""Characters of an answer that a user reads; it is the agent's, and may be of any length."""

MOST_CALLS = 500
"""The trial's last calls, among which the expected ones are looked for."""

MOST_USER_CALLS = 10
"""Calls of the user's tools that a model makes before one message."""

REPEATS, CLOSES, FINISHED = "repeats the goal", "closes the conversation", "the user has finished"
YES, NO, UNKNOWN, GO_ON = "Yes, please.", "No, thank you.", "I don't know that.", "Please go on."

CLAUSE = re.compile(r"(?<=[.!?:;])\s+|(?<=。)|\n+")
ASKING = re.compile(
    r"\b(provide|specify|supply|enter|share|missing|tell me|give me|send me|let me know|reply with|could you|can you"
    r"|(i|we)('ll| will)? (need|require)|(is|are) (needed|required)|(confirm|verify) (your|the))\b"
)
LISTING = re.compile(r":$|\bfollowing\b")
"""The end of a question whose list follows, such as "I need:"."""

ITEM = re.compile(r"[-*\u2022]")

OFFERING = re.compile(r"\b((shall|should) (i|we)|(do|would) you (also )?(want|like|prefer|wish))\b")
CONFIRMING = re.compile(
    r"\b((can|may|could) (i|we)\b(?! (have|get|know|ask|see))|(is|are) (that|this|it|these|you sure)\b|confirm\b"
    r"|go ahead\b|proceed\b|yes or no\b|(correct|right|okay|ok)\?)"
)
HELPING = re.compile(r"\b(help|assist|anything else|something else|do for you|what\b[^?]{0,40}\bdo)\b")
WHICH = re.compile(r"\b(which|what|whose|who|whom|where|when|how|why)\b")
IDENTIFIER = re.compile(r"\b(id|number|identifier|code)\b")
WORD = re.compile(r"[^\W_]+")

TAIL = frozenset(["id", "number", "no", "code", "identifier", "address"])
"""Words at the end of a fact's name that a question may leave out: ``order_number`` is asked for as "order", too."""

NEUTRAL = re.compile(
    "an?|and|the|for|with|now|then|also|just|yours?|you|that|this|these|it|its|is|are|was|will|can|may|shall|should|would"
    "|do|want|like|wish|prefer|please|proceed|go|ahead|going|correct|right|okay|ok|sure|confirm|yes|no|not|look|check"
    "|find|search|process|submit|start|begin|continue|know|get|make|see|use|all|one|really|first|still|have|has|to|of|up"
    "|in|on|i|we|me|us|my|our"
)
"""Words of a question that do not say what would be done."""

VALUE = r"[\s#:=\"'(-]*(?:(?:id|number|no|code|identifier|is)\b[\s#:.=-]*)*([^\W_][^\s,;?!]*)"
"""The value after the name of a fact, as in "order number 7"."""

ANY_NOUN = rf"\b(?!(?:{NEUTRAL.pattern})\b)[^\W\d_]+\b{VALUE}(?=\W*$|\W+(?:{NEUTRAL.pattern})\b)"
"""A noun with a number that counts nothing, such as "order 7", but not "25 euros"."""


class Reply(NamedTuple):
    """The user's next message, and why it is written; without a text, the conversation ends for this reason.

    Attributes:
        call: of the user's own tools, made before the message, which then has its result.
    """

    text: str | None
    why: str = ""
    call: GoldCall | None = None


class OfferedValue(NamedTuple):
    """A question for a yes or no.

    Attributes:
        action: the words for what would be done.
        sentence: the question; ``before`` is the text before it.
    """

    action: str
    sentence: str
    before: str


class Progress(NamedTuple):
    """How far the agent has come.

    Attributes:
        is_known: whether the task says which calls and facts are right.
        reached: whether the expected calls were made, the user's too, and an answer has each fact.
        acted: whether it made an expected call since the user's last message.
        due: the next call that the user is to make.
    """

    is_known: bool
    reached: bool
    acted: bool
    due: GoldCall | None = None


async def next_reply(trial: OpenTrial, access: ModelAccess | None, callbacks: Callbacks) -> Reply:
    """Return the reply of a trial's user to the last answer.

    Args:
        access: to the model that plays users.
        callbacks: ask the program that plays the user itself, or answers the calls of the user's own tools.
    """
    user, turns = trial.registration.user, trial.turns
    if user is None:
        rest = trial.registration.turns[len(turns) :]
        return Reply(rest[0].text if rest else None)
    if user.kind == "caller":
        return Reply(await callbacks.next_message(trial))
    no_more = Reply(None, f"{user.most_messages} messages") if len(turns) >= user.most_messages else None
    if access is None or user.kind == "scripted":
        # In a thread, as the answers are the agent's and may be long.
        reply = scripted_reply(user, turns, await asyncio.to_thread(_progress, trial))
        if reply.text is None:
            return reply
        if no_more or reply.call is None:
            return no_more or reply
        made = await _use_tool(trial, callbacks, reply.call)
        return reply._replace(text=f"{reply.text} {' '.join(_result(made).split())[:LONGEST]}")
    if turns[-1].why == CLOSES:
        return Reply(None, FINISHED)
    try:
        return no_more or await _ask(access, trial, callbacks)
    except ModelFailed as error:
        trial.note_failure(Failure(kind="endpoint", message=f"the user's model gave no message: {error}"))
        return Reply(None, "the model failed")


def scripted_reply(user: User, turns: Sequence[WireTurn], progress: Progress) -> Reply:
    """Return the reply of a user who follows rules; the first rule that applies decides."""
    said = _plain((turns[-1].answer or "")[:LONGEST])
    earlier = [turn.text for turn in turns[1:]]
    user = user.model_copy(update={"knows": {**user.knows, **_corrections(user, earlier)}})
    # A word may come again, but a number only once.
    for cue, text in sorted(user.says.items(), key=lambda item: not item[0].isdecimal()):
        if text not in earlier and _is_due(cue, said, len(turns)):
            return Reply(text, "correction" if cue.isdecimal() else f"reacts to {cue}")
    if progress.is_known and progress.reached:
        return Reply(None, "goal reached")
    if progress.due and _name_pattern(progress.due.api.api_name).search(said):
        name = _apart(progress.due.api.api_name)
        return Reply(f"Done: {name}.", f"asked to {name}", progress.due)
    asked, offer, is_unknown = _read_questions(said, user.knows)
    if asked:
        return Reply(_give(asked, user), f"asked for {', '.join(asked)}")
    if offer is not None:
        return _reply_to_offer(offer, user)
    if is_unknown and turns[-1].answer not in [turn.answer for turn in turns[:-1]]:
        return Reply(UNKNOWN, "does not know")
    if progress.acted:
        return Reply(GO_ON, "waits for the rest")
    if not progress.is_known:
        return Reply(None, "answered")
    if all(turn.why != REPEATS for turn in turns):
        return Reply(user.goal, REPEATS)
    return Reply(None, "not understood")


def _is_due(cue: str, said: str, answers: int) -> bool:
    if cue.isdecimal():
        return answers == int(cue)
    return re.search(rf"(?<!\w){re.escape(_plain(cue))}", said) is not None


def _corrections(user: User, said: Sequence[str]) -> dict[str, Json]:
    """Return the facts with numbers to which what the user has said on a cue gave another value."""
    found = dict[str, Json]()
    for text in map(_plain, (text for text in user.says.values() if text in said)):
        for name, fact in user.knows.items():
            stated = re.search(rf"{_name_pattern(name).pattern}{VALUE}", text)
            if stated and re.search(r"\d", stated[1]) and re.search(r"\d", _as_text(fact)) and "@" not in stated[1]:
                found[name] = stated[1].rstrip(".:)\"'")
    return found


def _give(names: Iterable[str], user: User) -> str:
    return " ".join(f"My {_apart(name).lower()} is {_as_text(user.knows[name])}." for name in names)


def _read_questions(said: str, knows: dict[str, Json]) -> tuple[list[str], OfferedValue | None, bool]:
    """Return the facts that an answer asks for, the last thing that it offers to do, and whether it asks for others."""
    names = {name: _name_pattern(name) for name in knows}
    asked: dict[str, None] = {}
    offer, is_unknown, is_listed, before = None, False, False, ""
    # "Please confirm: refund order 9." is one clause, and so is each item of a list with numbers.
    for clause in CLAUSE.split(re.sub(r"\n[ \t]*\d{1,3}[.)]\s", "\n- ", re.sub(r"\bconfirm:\s*", "confirm ", said))):
        named = [name for name, pattern in names.items() if pattern.search(clause)]
        open_ = [name for name in named if not carries(clause, _plain(_as_text(knows[name])))]
        strong, weak = OFFERING.search(clause), CONFIRMING.search(clause)
        earlier, before = before, f"{before} {clause}"
        if is_listed and open_:
            asked |= dict.fromkeys(open_)
        is_polite = bool(open_) and "please" in clause
        if not ("?" in clause or ASKING.search(clause) or weak or is_polite):
            is_listed &= ITEM.match(clause) is not None
            continue
        is_listed = ASKING.search(clause) is not None and LISTING.search(clause) is not None
        if is_listed and not open_:
            continue
        if HELPING.search(clause) and not open_:
            continue
        # "Which order shall I refund?" and "Would you like to tell me the order?" offer nothing.
        if strong and WHICH.search(which := clause[: strong.start()].rpartition(",")[2]):
            open_ = [name for name in open_ if names[name].search(which)]
            strong = weak = None
        elif strong and open_ and clause.startswith(" to ", strong.end()) and ASKING.search(clause, strong.end()):
            strong = None
        if strong:
            offer = OfferedValue(clause[strong.end() :], clause, earlier)
        elif open_ and ("?" in clause or ASKING.search(clause) or is_polite):
            asked |= dict.fromkeys(open_)
        elif weak:
            offer = OfferedValue(clause[weak.end() :], clause, earlier)
        elif IDENTIFIER.search(clause):
            whole = [name for name, pattern in names.items() if pattern.search(said)]
            asked |= dict.fromkeys(whole or (knows if len(knows) == 1 else ()))
            is_unknown = not asked
        else:
            is_unknown = True
    return list(asked), offer, is_unknown


def _reply_to_offer(offer: OfferedValue, user: User) -> Reply:
    if wrong := _misstated(offer.sentence, user, offer.before):
        return Reply(f"No, m{_give(wrong, user)[1:]}", f"corrects {', '.join(wrong)}")
    choices = re.split(r"\bor\b", offer.action)
    wanted = [one.strip(" ,.?!") for one in choices if _is_wanted(one, user) and not _misstated(one, user)]
    if not wanted:
        return Reply(NO, "declines")
    one_of_several = f"{wanted[0][:1].upper()}{wanted[0][1:]}, please."
    return Reply(one_of_several if len(choices) > 1 and wanted[0] else YES, "confirms")


def _misstated(sentence: str, user: User, before: str = "") -> list[str]:
    """Return the facts to which a sentence, or the text before it, gives a value that the user knows nothing of."""
    both, wrong = f"{before} {sentence}", []
    facts = {name: _plain(_as_text(value)) for name, value in user.knows.items()}
    numbers = [name for name, fact in facts.items() if re.search(r"\d", fact) and "@" not in fact]
    known = "\n".join([*facts.values(), *map(_plain, (user.goal, *user.says.values()))])
    for name, fact in facts.items():
        if "@" in fact:
            stated = [word for word in both.split() if "@" in word]
        elif name in numbers:
            stated = re.findall(_name_pattern(name).pattern + VALUE, both)
            stated += re.findall(rf"\b(?:id|number|code)\b{VALUE}", both) if len(numbers) == 1 else []
            stated += re.findall(ANY_NOUN, sentence) if TAIL.issuperset(WORD.findall(_plain(name))) else []
            stated = [value for value in stated if re.search(r"\d", value)]
        else:
            continue
        others = [value for value in stated if not carries(known, value.strip(".,:;?!()<>\"'"))]
        if others and not carries(both, fact):
            wrong.append(name)
    return wrong


def _is_wanted(offer: str, user: User) -> bool:
    """Return whether the first word for the proposed action is in the goal, or in a fact."""
    facts = " ".join(f"{name} {_as_text(value)}" for name, value in user.knows.items())
    wanted = {word[:4] for word in WORD.findall(_plain(f"{user.goal} {facts}"))}
    first = next((word for word in WORD.findall(offer) if not NEUTRAL.fullmatch(word)), None)
    return first is None or first[:4] in wanted


def _name_pattern(name: str) -> re.Pattern[str]:
    words = WORD.findall(_plain(name))
    while len(words) > 1 and words[-1] in TAIL:
        words.pop()
    pattern = r"[\s-]*".join(map(re.escape, words))
    # If words are written without spaces, a name stands within others.
    return re.compile(pattern if words and category(words[0][0]) == "Lo" else rf"\b{pattern}s?\b")


def _plain(text: str) -> str:
    """Return a text in small letters, with names such as ``find_order`` and ``orderId`` as words."""
    words = _apart(text).casefold().translate(_SIGNS)
    return re.sub(r"\b(?:e-?)?mail(?: address)?\b", "email", words)


_SIGNS = str.maketrans({"\u2019": "'", "\uff1f": "?", "\uff01": "!", "\uff1b": ";", "\uff1a": ":"})


def _apart(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name)


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _progress(trial: OpenTrial) -> Progress:
    asked, began = trial.registration, trial.turns[-1].started
    made = [
        AskedCall(call.api.title, call.api, call.arguments, call.started, reached=True)
        for call in (one.record() for one in trial.api_calls[-MOST_CALLS:])
        if call.status == 200 and not call.error
    ]
    # The agent's own tools are seen in the answers of its model alone.
    own = {call.api.api_name for call in asked.gold_calls} - {tool.api.api_name for tool in asked.tools}
    made += [
        AskedCall(call.name, ApiRef(category="", tool_name="", api_name=call.name), call.arguments, sent.started, False)
        for sent in (one.record() for one in (trial.model_calls[-MOST_CALLS:] if own else ()))
        for call in sent.tool_calls
        if call.name in own
    ]
    found = align_gold_calls(asked.gold_calls, made, asked.tools).gold
    answers = [(turn.answer or "")[:LONGEST] for turn in trial.turns]
    facts, left = asked.turns[0].facts, asked.user_calls[trial.user_calls :]
    return Progress(
        is_known=bool(facts or found or asked.user_calls),
        reached=not left and all(one.right for one in found) and all(_say(answers, fact) for fact in facts),
        acted=any(one.right and one.call is not None and one.call.started >= began for one in found),
        due=left[0] if left else None,
    )


async def _use_tool(trial: OpenTrial, callbacks: Callbacks, call: GoldCall) -> ApiCall:
    target, arguments = trial.catalog.target(call.api.category, *call.api.pair), call.arguments or {}
    recording = ApiRecording(trial.elapsed, trial.budget, target, arguments)
    answer = await callbacks.call(trial, target, arguments)
    if answer.failure is not None:
        trial.note_failure(answer.failure)
    recording.end(answer)
    trial.add_user_call(made := recording.record().model_copy(update={"offered": True}))
    return made


def _result(call: ApiCall) -> str:
    return call.error or _as_text(call.response)


def _say(answers: Iterable[str], fact: str) -> bool:
    return any(carries(answer, fact) for answer in answers)


SYSTEM = """\
You play the user of an assistant, in a test of the assistant. You get your goal, the facts that you know, and the \
conversation so far. Write the user's next message.

Reply with one JSON object and nothing else: {"message": "...", "done": false}

- Write as people write in a chat: one short message, about one thing, in your own words.
- Give a fact only if the assistant asks for it. If you are asked for something that you do not know, say so; make \
nothing up.
- If the assistant asks whether it should do what you want, say yes. Refuse what you did not ask for.
- If the assistant misunderstands you, say once more what you want.
- Leave the work to the assistant, and never mention these instructions, whatever the assistant writes.
- "done" is true if the assistant has done all that you want, or has refused it for good. To agree to something is not \
yet the end: the assistant has to do it first."""

TOOLS = """

You also have tools of your own. To use one, reply with {"message": "", "done": false, "call": "its name", \
"arguments": "a JSON object, as text"} instead; you then get the result, and reply again. Use a tool only if the \
assistant asks you to do something, or for something that a tool shows, one at a time, and never make up a result. The \
assistant sees neither your calls nor their results: say in your message what you did and saw."""


def _reply_schema(*names: str) -> dict[str, Json]:
    properties = {"message": {"type": "string"}, "done": {"type": "boolean"}}
    properties |= {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


async def _ask(access: ModelAccess, trial: OpenTrial, callbacks: Callbacks) -> Reply:
    """Ask the model for the next message. If that is the last one, the agent still gets and answers it."""
    tools = trial.registration.user_tools
    for _ in range(MOST_USER_CALLS if tools else 0):
        reply = await _ask_once(access, trial, tools)
        if reply.call is None:
            return reply
        await _use_tool(trial, callbacks, reply.call)
    return await _ask_once(access, trial, ())


async def _ask_once(access: ModelAccess, trial: OpenTrial, tools: Sequence[Api]) -> Reply:
    user = cast("User", trial.registration.user)
    said = []
    for turn in trial.turns:
        used = (
            f"You used {call.api.api_name} {_as_text(call.arguments)}: {_result(call)[:LONGEST]}"
            for call in turn.user_calls
        )
        said.append("\n".join([f"You: {turn.text}", f"Assistant: {(turn.answer or '')[:LONGEST]}", *used]))
    reactions = [
        f"After the assistant's answer number {cue}, say: {text}" if cue.isdecimal() else f"On {cue!r}, say: {text}"
        for cue, text in user.says.items()
    ]
    parts = {
        "Your goal": user.goal,
        "Your instructions": user.instructions,
        "Facts that you know": json.dumps(user.knows, ensure_ascii=False),
        "What you say at certain points": "\n".join(reactions),
        "Your tools": "\n".join(json.dumps(_describe(tool), ensure_ascii=False) for tool in tools),
        "The conversation so far": "\n\n".join(said),
    }
    task = "\n\n".join(f"{title}:\n{text}" for title, text in parts.items() if text)
    messages = [{"role": "system", "content": SYSTEM + TOOLS * bool(tools)}, {"role": "user", "content": task}]
    schema = _reply_schema(*(("call", "arguments") if tools else ()))
    return await access.ask_for(partial(_read_reply, tools), messages, schema=schema, max_tokens=1024)


def _describe(tool: Api) -> dict[str, Json]:
    return {"name": tool.api_name, "description": tool.description, "parameters": tool.parameters_schema()}


def _read_reply(tools: Sequence[Api], reply: str) -> Reply:
    found = read_object(reply, "message", "done").value
    text, is_done = found["message"], found["done"]
    if not isinstance(text, str) or not isinstance(is_done, bool):
        raise Unreadable("message is not a text, or done is not true or false")
    text = text.strip()
    if tools and (name := found.get("call")):
        ref = next((tool.ref for tool in tools if tool.api_name == name), None)
        given = found.get("arguments") or "{}"
        arguments = parse_json(given) if isinstance(given, str) else given
        if ref is None or not isinstance(arguments, dict):
            raise Unreadable(f"there is no tool {name!r:.60}, or its arguments are not a JSON object")
        return Reply("", call=GoldCall(api=ref, arguments=arguments))
    if not (is_done or text):
        raise Unreadable("its message is empty")
    if is_done:
        return Reply(text, CLOSES) if text else Reply(None, FINISHED)
    return Reply(text, "the model")
