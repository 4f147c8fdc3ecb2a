from __future__ import annotations

from support.cases import for_each

from trialbed.views import UNKNOWN, compact, counts, estimate, number, printable


@for_each(
    ("value", "said"),
    [(None, UNKNOWN), (0.0, "0.00"), (0.123, "0.12"), (999.994, "999.99"), (1234.5, "1,234"), (-2000.0, "-2,000")],
)
def test_a_number_has_its_digits_and_separators_from_a_thousand_on(value, said) -> None:
    assert number(value, 2) == said


@for_each(
    ("value", "said"),
    [
        *((None, UNKNOWN), (-5.88e-05, "-0.000059"), (0.0, "0"), (0.00058812, "0.00059"), (0.012345, "0.0123")),
        *((3.25, "3.25"), (99.96, "100"), (123.6, "124"), (123456.7, "123,457"), (1e-300, "1e-300")),
    ],
)
def test_a_compact_number_has_three_digits_that_count_and_an_exponent_only_where_it_is_tiny(value, said) -> None:
    assert compact(value) == said


def test_an_estimate_has_its_interval_and_its_number_where_known() -> None:
    assert estimate(None) == estimate({"value": None, "low": None, "high": None, "n": 0}, with_n=True) == UNKNOWN
    assert estimate({"value": 0.5, "low": None, "high": None}) == "0.5000"
    assert estimate({"value": 0.5, "low": 0.25, "high": 1, "n": 7}, 2, with_n=True) == "0.50 [0.25, 1.00] n=7"


def test_counts_name_what_was_counted() -> None:
    assert counts({"timeout": 2, "crash": 1}) == "2 timeout, 1 crash"


def test_what_would_control_a_terminal_is_replaced() -> None:
    assert printable("a\x1b[2J\nb é") == "a?[2J?b é"
