"""In which form a result is printed."""

from __future__ import annotations

import click
import pytest

from trialbed.cli.formats import chosen_format


def test_one_format_is_chosen_by_either_option() -> None:
    assert [chosen_format(None, as_json=False), chosen_format(None, as_json=True)] == ["table", "json"]
    assert [chosen_format("csv", as_json=False), chosen_format("json", as_json=True)] == ["csv", "json"]
    with pytest.raises(click.UsageError, match="--json and --format table ask for different formats"):
        chosen_format("table", as_json=True)
