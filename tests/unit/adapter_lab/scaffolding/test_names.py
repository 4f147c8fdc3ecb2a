"""The names of an adapter's package."""

from __future__ import annotations

import pytest
from support.cases import for_each

from trialbed import UsageError
from trialbed_adapter_lab.scaffolding import PackageNames, free_names


@for_each(
    ("name", "distribution", "module", "title"),
    [
        ("acme", "trialbed-acme", "trialbed_acme", "Acme"),
        ("my-loop2", "trialbed-my-loop2", "trialbed_my_loop2", "MyLoop2"),
        ("a-b-3", "trialbed-a-b-3", "trialbed_a_b_3", "AB3"),
    ],
)
def test_all_names_follow_from_one(name: str, distribution: str, module: str, title: str) -> None:
    names = free_names(name)
    assert (names.distribution, names.module, names.title) == (distribution, module, title)
    assert names.module.isidentifier()
    assert names.title.isidentifier()


@for_each("name", ["", " ", "3x", "-a", "a-", "a--b", "A", "a_b", "a.b", "a b", "../a", "a/b", "é", "a==1", "x" * 51])
def test_a_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the framework's name: it must be"):
        free_names(name)


@for_each(
    ("name", "suggested"),
    [("My_Loop", "my-loop"), ("trialbed-acme", "acme"), ("7 Agents!", "agents"), ("a..b", "a-b"), ("x" * 60, "x" * 50)],
)
def test_a_name_that_nearly_is_one_is_suggested(name: str, suggested: str) -> None:
    with pytest.raises(UsageError, match=f"; try '{suggested}'$"):
        free_names(name)


@for_each("name", ["", "123", "!?", "é"])
def test_nothing_is_suggested_where_there_is_nothing_left(name: str) -> None:
    with pytest.raises(UsageError, match=r"which is added$"):
        free_names(name)


def test_the_words_of_the_template_are_replaced_once() -> None:
    names = PackageNames("new-framework-2")
    text = "trialbed-new-framework trialbed_new_framework NewFrameworkAgent new-framework"
    assert names.put_into(text) == (
        "trialbed-new-framework-2 trialbed_new_framework_2 NewFramework2Agent new-framework-2"
    )
