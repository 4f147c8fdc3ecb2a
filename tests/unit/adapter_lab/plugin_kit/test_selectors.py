"""Selectors under the kit: a right one conforms, and each deliberate defect fails the check that is about it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from support.cases import for_each
from support.checked_plugins import check

from trialbed import Api, ApiRef, Query
from trialbed.contracts import (
    ToolSelector,
)


class RightSelector(ToolSelector):
    needs_catalog = True

    def prepare(self, apis: Sequence[Api]) -> None:
        self.refs = [api.ref for api in apis]

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return self.refs[:max_tools]


class EndlessSelector(RightSelector):
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return self.refs


class InventingSelector(RightSelector):
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return [ApiRef(category="a", tool_name="b", api_name="c")]


class TwiceSelector(RightSelector):
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return (self.refs[:1] * 2)[:max_tools]


class NamingSelector(RightSelector):
    def select(self, query: Query, *, max_tools: int) -> Any:
        return [ref.title for ref in self.refs[:max_tools]]


class DrawingSelector(RightSelector):
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        return random.sample(self.refs, min(max_tools, len(self.refs)))


class RememberingSelector(RightSelector):
    seen = 0

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        self.seen += 1
        return self.refs[self.seen : self.seen + max_tools]


class FirstWordSelector(RightSelector):
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        assert query.text.split()[0]
        return self.refs[:max_tools]


def test_a_right_selector_conforms() -> None:
    assert check("selectors", RightSelector) == {}


@for_each(
    "selector, name",
    [
        (EndlessSelector, "no_more_than_asked_for"),
        (InventingSelector, "only_known_apis"),
        (TwiceSelector, "only_known_apis"),
        (NamingSelector, "only_known_apis"),
        (DrawingSelector, "equal_queries_get_equal_choices"),
        (RememberingSelector, "equal_queries_get_equal_choices"),
        (FirstWordSelector, "nothing_and_strange_texts_are_taken"),
    ],
)
def test_each_defect_of_a_selector_is_named(selector: type[ToolSelector], name: str) -> None:
    assert name in check("selectors", selector)
