"""A task's expectations, in words."""

from __future__ import annotations

from collections.abc import Sequence

from trialbed import Expect, Task, call
from trialbed.report.inspection import expected_lines
from trialbed.tasks import compile_tasks


def book(seat: str) -> str:
    """Book a seat."""
    return seat


def cancel(seat: str) -> str:
    """Cancel a seat."""
    return seat


def lines(task: Task) -> Sequence[str]:
    (query,) = compile_tasks([task]).queries
    return [f"{label}: {text}" for label, text in expected_lines(query)]


def test_calls_facts_and_the_state_of_a_task_are_named() -> None:
    task = Task(
        "Book 1A.",
        tools=[book, cancel],
        calls=[call("book", seat="1A"), "cancel"],
        expect="1A",
        final_state={"1A": "Ann"},
        answer="It is booked.",
    )
    assert lines(task) == [
        'expected: book {"seat": "1A"}',
        "expected: cancel",
        "expected in the answer: 1A",
        'expected final state: {"1A": "Ann"}',
        "reference answer: It is booked.",
    ]


def test_limits_other_ways_and_tests_are_named() -> None:
    def short(trial: object) -> bool:
        return True

    expect = Expect(
        calls=[call("book", seat="1A")],
        ways=[["book", "book"], []],
        in_order=True,
        only=True,
        never=["cancel"],
        most_calls=3,
        most_tokens=4000,
        check=short,
        criteria="The answer is polite.",
        tests={"seat": Expect("1A", calls=["book"], state={"1A": "Ann"}, most_requests=2)},
    )
    assert lines(Task("Book 1A.", tools=[book, cancel], expect=expect)) == [
        'expected: book {"seat": "1A"}',
        "or: book, book",
        "or: no calls",
        "expected: the calls are made in this order",
        "expected: no other calls are made",
        "never: cancel",
        "at most: 3 calls of tools",
        "at most: 4,000 tokens",
        "check: short",
        "criterion: The answer is polite.",
        """test seat: book; '1A'; final state {"1A": "Ann"}; at most 2 requests to the model""",
    ]


def test_no_calls_are_expected_only_where_the_task_says_so() -> None:
    assert lines(Task("Greet me.", tools=[book], calls=[])) == ["expected: no calls"]
    assert lines(Task("Greet me.", tools=[book])) == []
