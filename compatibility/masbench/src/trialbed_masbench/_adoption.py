"""Run a checkout with its data and settings, and make its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trialbed.catalogs import dataset_driver
from trialbed.drivers import load_driver
from trialbed.preparation import RunOptions
from trialbed.report import Report, Summary, reason_lines
from trialbed.texts import number_of
from trialbed.views import Table, TableRow
from trialbed_masbench._checkout import Checkout

DATASET = "stabletoolbench"
NONE = "none"

COLUMNS = (
    "agent",
    "published: solved",
    "published: api_call_score",
    "seen: solved",
    "seen: api_call_score",
    "calls claimed, not made",
    "trials that failed",
)


def run_options(commands: Sequence[str], *, test_set: str, **given: Any) -> RunOptions:
    """Return the settings of a checkout's run; settings that are None get their defaults."""
    chosen = {name: value for name, value in given.items() if value is not None}
    return RunOptions(frameworks=(), commands=tuple(commands), dataset=f"{DATASET}:{test_set}", **chosen)


def import_data(checkout: Checkout, options: RunOptions) -> Iterator[str]:
    """Import a checkout's queries and cached responses, if it has them; yield what was imported."""
    driver = dataset_driver(DATASET)
    if checkout.data is not None and driver.recognises(checkout.data):
        test_sets = driver.import_folder(checkout.data, options.data_dir)
        yield f"imported from {checkout.data}: {', '.join(test_sets)}"
    if checkout.responses is not None:
        report = load_driver("components", "server").import_cache(checkout.responses, str(options.response_cache))
        new = number_of(report.new, "cached response")
        yield f"imported from {checkout.responses}: {new}, {report.known} known before"


def adoption_table(checkout: Checkout, report: Report, not_run: Sequence[str], *, openai_api: str) -> Table:
    """Return the published figures next to the figures that the server saw, a row for each agent."""
    test_set = report.run.config.test_set
    rows, notes = [], []
    for summary in report.frameworks:
        published = checkout.published(summary.framework, test_set)
        means = [NONE, NONE] if published is None else [f"{mean:.2f}" for mean in published.means()]
        rows.append(TableRow(summary.framework, (*means, *_seen(summary)), alarming=bool(summary.claims["invented"])))
        if published is not None:
            notes.append(
                f"{summary.framework}: published in {published.file.name}, over {len(published.scores)} tasks, "
                f"{published.failed} of which failed, judged by {published.model}"
            )
        notes += [f"{summary.framework}: {line}" for line in reason_lines(summary)]
    notes += not_run
    if any(summary.framework == "openai_sdk" for summary in report.frameworks) and openai_api != "responses":
        notes.append(
            "openai_sdk asked the chat-completions protocol, by the SDK's own set_default_openai_api; its default is "
            "the Responses protocol (--openai-api responses)"
        )
    config = report.run.config
    notes += [
        f"published calls are those that agents named; seen are those that reached the server, with model "
        f"{config.models[0]} and judge {config.judge}",
    ]
    return Table(f"MASBench's agents on {len(report.queries)} tasks of {test_set}", COLUMNS, rows, notes)


def _seen(summary: Summary) -> tuple[str, str, str, str]:
    means = [
        summary.scores[name].value if name in summary.scores else None for name in ("sopr_score", "api_call_score")
    ]
    shown = [NONE if mean is None else f"{mean:.2f}" for mean in means]
    return shown[0], shown[1], str(summary.claims["invented"]), f"{summary.counts.failed} of {summary.counts.trials}"
