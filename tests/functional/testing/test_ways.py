"""Five tests of an agent that someone has: each notices a way in which it may be broken, and names it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.bench import own_environment
from support.warm import run_warm

pytestmark = pytest.mark.slow(30)

OPENAI = """
import json

from openai import OpenAI

PROMPT = "You are a shop's support agent. Use the tools, and say what you did."


def support(query: str, base_url: str, api_key: str, model: str, tools: list) -> str:
    client = OpenAI(base_url=base_url, api_key=api_key, max_retries=0)
    by_name = {tool.name: tool for tool in tools}
    offered = [{"type": "function", "function": {"name": t.name, "parameters": t.parameters}} for t in tools]
    messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": query}]
    while True:
        said = client.chat.completions.create(model=model, messages=messages, tools=offered).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return said.content
        for one in said.tool_calls:
            try:
                arguments = json.loads(one.function.arguments)
                result = by_name[one.function.name].text(arguments)
            except ValueError as error:
                result = f"Error: {error}"
            messages.append({"role": "tool", "tool_call_id": one.id, "content": result})
"""

LANGGRAPH = """
from langchain.agents import create_agent
from langchain.agents.middleware import ToolCallLimitMiddleware
from langchain_openai import ChatOpenAI


def support(query: str, base_url: str, api_key: str, model: str, tools: list) -> str:
    llm = ChatOpenAI(model=model, base_url=base_url, api_key=api_key, max_retries=0)
    own = [tool.as_langchain() for tool in tools]
    agent = create_agent(llm, own, system_prompt="You are a shop's support agent.", middleware=[])
    return agent.invoke({"messages": [("user", query)]})["messages"][-1].text
"""

TESTS = '''
import importlib

import pytest
from trialbed import ApiRefused, Expect, call
from trialbed_scripted import call as play, say, script

PRICES = {7: 12.5, 8: 80.25}

def find_order(id: int) -> dict:
    """Find an order."""
    if id not in PRICES:
        raise ApiRefused(f"there is no order {id}")
    return {"price": PRICES[id]}

def refund(id: int) -> dict:
    """Refund an order."""
    return {"refunded": PRICES[id]}

TOOLS = [find_order, refund]
BOTH = Expect(calls=[call("find_order", id=7), call("refund", id=7)], in_order=True)

@pytest.fixture(params=[WAYS])
def support(request):
    return importlib.import_module(request.param).support

def test_refunds(trialbed, support):
    trial = trialbed.run(support, "Refund order 7", tools=TOOLS, expect=BOTH)
    assert trial.called("find_order", id=7).before("refund", id=7)
    assert trial.solved

def test_price(trialbed, support):
    expect = Expect("12.5", calls=[call("find_order", id=7)])
    assert trialbed.run(support, "What did order 7 cost?", tools=TOOLS, expect=expect).solved

def test_parallel(trialbed, support):
    calls = [call("find_order", id=7), call("find_order", id=8)]
    expect = Expect(["12.5", "80.25"], calls=calls)
    trial = trialbed.run(support, "Compare the orders 7 and 8", tools=TOOLS, expect=expect, model="scripted:parallel")
    assert trial.failure is None
    assert trial.called("find_order").times(2)
    assert trial.solved

def test_bad_json(trialbed, support):
    trial = trialbed.run(support, "Refund order 7", tools=TOOLS, expect=BOTH, model="scripted:bad-json")
    assert trial.failure is None

def test_refusal(trialbed, support):
    model = script(play("find_order", id=9), say("There is no order 9."))
    trial = trialbed.run(support, "Refund order 9", tools=TOOLS, model=model)
    assert trial.called("find_order", id=9).times(1)
    assert trial.said("no order 9")
'''

Ways = dict[str, tuple[str, str, str, str]]
"""Name of a way -> the right line, the wrong one, a test that fails, and what its message says."""

OPENAI_WAYS: Ways = {
    "one_tool": ("tools=offered)", "tools=offered[:1])", "refunds", "refund: not offered: the framework's offer"),
    "texts": (
        ".text(arguments)",
        ".text({k: str(v) for k, v in arguments.items()})",
        "price",
        "'7' is not of type",
    ),
    "no_results": ('"content": result}', '"content": "done"}', "price", "did not tell the model of its response"),
    "one_call": ("in said.tool_calls:", "in said.tool_calls[:1]:", "parallel", "the framework did not make the call"),
    "no_patience": ("except ValueError", "except KeyError", "bad_json", "JSONDecodeError: Expecting ',' delimiter"),
}
LANGGRAPH_WAYS: Ways = {
    "one_tool": (
        "for tool in tools]",
        "for tool in tools[:1]]",
        "refunds",
        "refund: not offered: the framework's offer",
    ),
    "no_answer": ("[-1].text", "[0].text", "price", "gave another answer than the model's last text"),
    "one_call": (
        "middleware=[]",
        "middleware=[ToolCallLimitMiddleware(run_limit=1)]",
        "parallel",
        "the framework did not make the call",
    ),
    "two_steps": (
        "query)]}",
        'query)]}, {"recursion_limit": 2}',
        "refunds",
        "GraphRecursionError: Recursion limit of 2",
    ),
    "direct": (
        "as_langchain()",
        'as_langchain().model_copy(update={"return_direct": True})',
        "refunds",
        "ended after 1 request without passing the result of find_order back",
    ),
}


def failures(folder: Path) -> dict[str, str]:
    """Run the tests; test and way of each that fails -> its message."""
    options = ("-q", "-p", "no:cacheprovider", "-p", "trialbed_testing.plugin", "--junitxml=report.xml")
    environment = own_environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", TRIALBED_STATE_DIR=str(folder / "state"))
    done = run_warm("pytest", options, cwd=folder, env=environment, timeout=600)
    report = ElementTree.parse(folder / "report.xml").getroot()
    found = {case.attrib["name"]: case.find("failure") for case in report.iter("testcase")}
    assert len(found) == 30, done.stdout
    return {name: str(failure.text) for name, failure in found.items() if failure is not None}


@pytest.mark.parametrize(
    ("agent", "ways"), [(OPENAI, OPENAI_WAYS), (LANGGRAPH, LANGGRAPH_WAYS)], ids=["openai", "langgraph"]
)
def test_each_way_is_noticed_and_named(tmp_path: Path, agent: str, ways: Ways) -> None:
    (tmp_path / "right.py").write_text(agent, encoding="utf-8")
    for name, (right, wrong, _, _) in ways.items():
        assert agent.count(right) == 1
        (tmp_path / f"{name}.py").write_text(agent.replace(right, wrong), encoding="utf-8")
    (tmp_path / "test_support.py").write_text(TESTS.replace("[WAYS]", repr(["right", *ways])), encoding="utf-8")
    found = failures(tmp_path)
    assert [test for test in found if test.endswith("[right]")] == []
    for name, (_, _, test, says) in ways.items():
        assert says in found[f"test_{test}[{name}]"]
