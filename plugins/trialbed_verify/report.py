"""Report the results of ``bench verify`` as tables, JSON and files."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import json_text
from trialbed.errors import DriverBroken, NothingMeasured
from trialbed_verify.summary import as_document

if TYPE_CHECKING:
    from trialbed_verify.rows import VendorRows


def print_report(
    form: str,
    summaries: Sequence[dict[str, Any]],
    comparisons: dict[str, Any] | None,
    sources: Sequence[VendorRows],
    about: Mapping[str, Any] | None = None,
) -> None:
    """Print the summaries of all targets, and their comparisons and ranks, on stdout.

    ``comparisons`` come from ``compare_and_rank``, and ``about`` has facts about a stored run, for its JSON.
    """
    from trialbed.views import print_tables
    from trialbed_verify.tables import verification_record, verification_tables, verified_tables

    tables = verification_tables(summaries) + (verified_tables(comparisons) if comparisons else [])
    if form == "json":
        document = {**(about or {}), "summaries": summaries, **as_document(comparisons or {})}
        _echo(json_text(document if about or comparisons else summaries[0]))
    elif form == "junit":
        _echo(_junit(summaries, comparisons))
    elif form == "html":
        from trialbed.views import html_page
        from trialbed_verify.pages import verification_page

        models = " and ".join(dict.fromkeys(summary["model"] for summary in summaries))
        _echo(html_page(f"Verification of {models}", verification_page(sources, comparisons)))
    elif form == "table":
        print_tables(tables, sys.stdout)
    else:
        from trialbed.cli.formats import records_text

        _echo(records_text(form, tables, list(map(verification_record, summaries)), "Verification"))


def _junit(summaries: Sequence[dict[str, Any]], comparisons: dict[str, Any] | None) -> str:
    from trialbed.views import TestCase, TestSuite, junit
    from trialbed_verify.tables import comparison_tests, verification_tests

    tests = [test for summary in summaries for test in verification_tests(summary)]
    for model in comparisons["models"] if comparisons else ():
        tests += [test for one in model["comparisons"] for test in comparison_tests(one)]
        tests += [TestCase(model["model"], note, outcome="skipped", message=note) for note in model["notes"]]
    return junit([TestSuite("bench verify", tests)], "bench verify")


def check_answers(summaries: Sequence[dict[str, Any]]) -> None:
    """Raise an error if a driver failed, or if no request was answered."""
    from trialbed_verify.findings import ADVICE

    if failures := [summary["failure"] for summary in summaries if summary["failure"]]:
        raise DriverBroken("\n".join(failures))
    if not any(summary["success_count"] for summary in summaries):
        problems = [_problems(summary) for summary in summaries]
        advice = {next(said for pattern, said in ADVICE.items() if re.search(pattern, text)) for text in problems}
        listed, todo = "".join(f"\n  {text}" for text in problems), ". ".join(sorted(advice))
        raise NothingMeasured(f"no request was answered:{listed}\n{todo}, then run the same command again.")


def _echo(text: str) -> None:
    # Vendors send lone surrogates, which no file can hold.
    click.echo(text.encode("utf-8", "backslashreplace"), nl=not text.endswith("\n"))


def _problems(summary: dict[str, Any]) -> str:
    """Return the model with its address, and its problems with an example."""
    from trialbed.views import counts

    examples = [example["message"] for examples in summary["examples"]["problems"].values() for example in examples]
    said = ": ".join([counts(summary["problems"]) or "nothing was sent", *examples[:1]])
    url, proxy = summary["provenance"]["configuration"]["base_url"], summary["provenance"].get("proxy")
    via = f" through {url.partition(':')[0].upper()}_PROXY, {proxy}" if proxy else ""
    return f"{summary['model']} at {url}{via}: {said}"
