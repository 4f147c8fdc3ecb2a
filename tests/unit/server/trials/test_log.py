"""What the wire log keeps of bodies."""

from __future__ import annotations

from trialbed_server.trials import LogBudget, body_text


def test_a_body_over_the_bound_is_cut_with_a_marker() -> None:
    budget = LogBudget(body=5)
    assert budget.keep("12345") == "12345"
    assert budget.keep("123456") == "12345…[cut: 5 of 6 characters kept]"


def test_a_trial_keeps_only_so_much_in_all() -> None:
    budget = LogBudget(body=10, trial=15)
    assert budget.keep("1234567890") == "1234567890"
    assert budget.keep("1234567890").startswith("12345…[cut: 5 of 10")
    assert budget.keep("x") == "…[cut: 0 of 1 characters kept]"


def test_values_are_kept_whole_or_as_cut_text() -> None:
    budget = LogBudget(body=20)
    assert budget.keep_value({"a": [1, None]}) == {"a": [1, None]}
    assert budget.keep_value({"a": "x" * 30}) == '{"a": "xxxxxxxxxxxxx…[cut: 20 of 39 characters kept]'
    assert budget.keep_value(5) == 5


def test_half_characters_do_not_reach_the_log() -> None:
    budget = LogBudget()
    assert budget.keep("a\ud800b") == "a?b"
    assert budget.keep_value({"k\ud800": ["\udc00"]}) == {"k?": ["?"]}
    assert body_text(b"a\xffb") == "a�b"
