"""The report that a store keeps of a run shows the same as the one that its trials give."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from golden.loading import load_runs

from trialbed.catalogs import known_queries
from trialbed.cli.stored import run_reporter
from trialbed.plugins import installed_listeners
from trialbed.report import Report, legacy_documents, legacy_summary, read_report, worst_queries
from trialbed.report.kept import difference_of_kept, headlines, make_report, stored_report
from trialbed.store import Store, StoredRun, open_store


def shown(report: Report) -> dict[str, object]:
    """All that is shown of a report without its trials."""
    found: dict[str, object] = {}
    for name in ("table", "csv", "markdown"):
        stream = StringIO()
        run_reporter(name, explained=True).report(report, stream)
        found[name] = stream.getvalue()
    found["summaries"] = [legacy_summary(summary) for summary in report.frameworks]
    found["worst"] = [(query.query_id, query.text, query.worst.key) for query in worst_queries(report)]
    return found | {"end": report.last_end, "factors": report.factors}


def refuse() -> None:
    raise AssertionError("the dataset is read")


@pytest.mark.parametrize("name", ["faults", "kinds", "own-scores"])
def test_a_kept_report_is_that_of_the_trials(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    location = str(tmp_path / "t.db")
    listeners = installed_listeners()
    ids = load_runs(location, [name])
    with Store.open(location) as store, open_store(location) as reader:
        run = reader.run(ids[name])
        queries = known_queries(run.config, tmp_path)
        made = read_report(run, queries, described=listeners.descriptions(), aggregate=listeners.aggregate)
        assert headlines(run, listeners) is None
        assert store.keep_report(make_report(run, lambda: made, listeners))
        whole = json.dumps(legacy_documents(made))
        before = shown(made)
        with monkeypatch.context() as patched:
            patched.setattr(StoredRun, "each_result", refuse)
            assert shown(stored_report(run, refuse, listeners=listeners)) == before
        assert json.dumps(legacy_documents(stored_report(run, lambda: queries, listeners=listeners))) == whole
        held_to_common = any(each.common is not None for each in made.frameworks)
        assert held_to_common == (name == "kinds")
        assert (headlines(run, listeners) is None) == held_to_common
        assert difference_of_kept(run, lambda: queries, listeners) == ""
