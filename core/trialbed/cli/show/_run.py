"""A run: its settings, the table of its scores, and what went worst in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.stored import moment, print_json, run_reporter, seconds, show_command

if TYPE_CHECKING:
    from trialbed.records import Query
    from trialbed.report import WorstQuery
    from trialbed.store import StoredRun
    from trialbed.views import Table

Document = Mapping[str, Any]

TEXT = 50
"""Characters of a task that the table of the worst queries shows."""

BRIEF = ("table", "csv", "markdown")
"""Reporters that need no more of a trial than how it ended; another may read anything."""

TOLD_BY_NAME = ("frameworks", "commands", "dataset")
"""Settings that have lines of their own."""


def show_run(
    run: StoredRun,
    queries: Mapping[int | str, Query] | None,
    *,
    reporter: str,
    store: str | None,
    as_json: bool,
    legend: bool = False,
) -> None:
    """Print a run.

    Args:
        queries: its queries by id; None where the dataset is out of reach.
        reporter: prints the results.
        store: as the user named it, for the command that is shown.
        legend: whether the table is to say what each figure means.
    """
    from trialbed.engine import stored_documents
    from trialbed.report import trial_name, worst_queries

    chosen = run_reporter("table" if as_json else reporter, explained=legend)
    documents = stored_documents(run, queries, brief=as_json or reporter in BRIEF)
    worst = worst_queries(documents)
    if as_json:
        print_json(_document(run, documents, worst))
        return
    if reporter != "table":
        chosen.report(documents, sys.stdout)
        return
    for line in _settings(run, documents):
        click.echo(line)
    click.echo()
    chosen.report(documents, sys.stdout)
    if worst:
        from trialbed.views import print_tables

        framework, entry = worst[0].worst
        command = show_command(run.run_id, trial_name(framework, entry), store)
        click.echo()
        print_tables([_worst_table(worst, documents, command)], sys.stdout)


def _settings(run: StoredRun, documents: Sequence[Document]) -> Iterator[str]:
    """The settings of a run, and how it went, each on a line."""
    from trialbed.views import printable

    rows = [
        ("run", f"{run.run_id}: {run.status}, began {moment(run.created_at)} UTC{_duration(run, documents)}"),
        ("frameworks", ", ".join(_named(run))),
        *(("program", text) for text in run.config.commands),
        ("dataset", f"{run.config.dataset} ({run.config.test_set}), {_number(run)}, sha256 {_digest(run)}"),
        *_chosen(run, documents[0]["metadata"]),
        ("trialbed", run.config.trialbed_version),
        *([("tags", ", ".join(run.tags))] if run.tags else []),
        *([("note", run.note)] if run.note else []),
    ]
    width = max(len(name) for name, _ in rows)
    yield from (printable(f"{name:<{width}}  {text}") for name, text in rows)


def _duration(run: StoredRun, documents: Sequence[Document]) -> str:
    """How long a run took; of one that was killed or is under way, as far as its trials tell."""
    if run.overall_time:
        return f", took {seconds(run.overall_time)}"
    ends = [
        datetime.fromisoformat(entry["started_at"]) + timedelta(seconds=entry["system_answer_time"])
        for document in documents
        for entry in document["results"]
    ]
    return f", its last trial ended {seconds((max(ends) - run.created_at).total_seconds())} later" if ends else ""


def _named(run: StoredRun) -> Iterator[str]:
    versions = {info.name: info.version for info in run.frameworks}
    for name in run.config.frameworks:
        yield f"{name} {versions[name]}" if versions.get(name) else name


def _number(run: StoredRun) -> str:
    count, repeat = len(run.config.query_ids), run.config.repeat
    text = "1 query" if count == 1 else f"{count} queries"
    return text if repeat == 1 else f"{text} x {repeat}"


def _digest(run: StoredRun) -> str:
    return run.config.dataset_digest[:12]


def _chosen(run: StoredRun, about: Document) -> Iterator[tuple[str, str]]:
    """The other settings of the run's identity; those that are not set are left out."""
    from dataclasses import fields

    from trialbed.settings import IdentitySettings

    for item in fields(IdentitySettings):
        # The document's address is without a password.
        value = about["base_url"] if item.name == "base_url" else getattr(run.config, item.name)
        if item.name not in (*TOLD_BY_NAME, "repeat") and value not in (None, (), ""):
            yield item.name.replace("_", " "), str(value)


def _worst_table(worst: Sequence[WorstQuery], documents: Sequence[Document], command: str) -> Table:
    from trialbed.views import Table

    names = [document["metadata"]["agent_name"] for document in documents]
    has_texts = any(query.text for query in worst)
    columns = ("worst queries", *names, *(["task"] if has_texts else []))
    rows = [
        (
            str(query.query_id),
            *(_ends(query.entries.get(name, ())) for name in names),
            *([_short(query.text)] if has_texts else []),
        )
        for query in worst
    ]
    return Table.of("", columns, rows, [f"What went wrong in the worst trial: {command}"])


def _ends(entries: Sequence[Document]) -> str:
    """How the trials of a query ended under one framework."""
    ends = [_end(entry) for entry in entries]
    counts = {end: ends.count(end) for end in dict.fromkeys(ends)}
    if len(ends) <= 1:
        return "".join(ends)
    return ", ".join(f"{count} {end}" for end, count in counts.items())


def _end(entry: Document) -> str:
    if entry["status"] != "answered":
        return f"{entry['status']} ({entry['error']['kind']})"
    status = entry["scores"].get("answer_status")
    return "not judged" if status == "Error" else str(status)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TEXT else f"{line[: TEXT - 1]}…"


def _document(run: StoredRun, documents: Sequence[Document], worst: Sequence[WorstQuery]) -> dict[str, Any]:
    """A run as JSON: its record, the metadata and summary of each framework, and the worst queries."""
    from trialbed.report import trial_name

    record = run.record.model_dump(mode="json")
    return {
        "run": {**record, "config": {**record["config"], "base_url": documents[0]["metadata"]["base_url"]}},
        "frameworks": [{key: document[key] for key in ("metadata", "summary")} for document in documents],
        "worst": [
            {"query_id": query.query_id, "trial": trial_name(*query.worst), "query_text": query.text} for query in worst
        ],
    }
