"""The columns of a run's trials."""

from __future__ import annotations

from collections import Counter
from math import nan
from pathlib import Path

import pytest
from support.stored_runs import NEW, OLD, make_store, trial

from trialbed.store import ScoreKind, Store, TrialPlace, column_table, open_store, run_ends


def test_columns_are_those_of_the_trials_that_count(tmp_path: Path) -> None:
    make_store(tmp_path / "s.db")
    with Store.open(str(tmp_path / "s.db")) as store:
        again = trial("reference", 1, wrong=False).model_copy(update={"attempt": 1})
        store.add_trial(NEW, again)
    with open_store(str(tmp_path / "s.db")) as reader:
        run = reader.run(NEW)
        table = column_table(run, ["sopr_score", "nosuch"])
        found, trials = table.trials(), run.trials()
        assert [one.row for one in found] == [one._row for one in trials]
        assert run_ends(run) == Counter(one.status for one in trials)
        assert [(one.status, one.failure) for one in found] == [
            (one.status, one.failure.kind if one.failure else None) for one in trials
        ]
        assert found[1].key == TrialPlace("reference", "a/b", 0)
        values = [score.value if (score := one.score("sopr_score")) else nan for one in trials]
        assert list(table.score("sopr_score")) == pytest.approx(values, nan_ok=True)
        assert table.kinds == {
            "sopr_score": ScoreKind(bounded=True, quality=True),
            "api_call_score": ScoreKind(bounded=True, quality=True),
            "total_tokens": ScoreKind(bounded=False, quality=False),
        }


def test_a_trial_of_a_query_that_the_run_does_not_have_stands_in_its_columns(tmp_path: Path) -> None:
    make_store(tmp_path / "s.db")
    with Store.open(str(tmp_path / "s.db")) as store:
        store.add_trial(NEW, trial("reference", 2, wrong=False))
    with open_store(str(tmp_path / "s.db")) as reader:
        run = reader.run(NEW)
        assert 2 not in run.config.query_ids
        found = column_table(run, ()).trials()
        assert [one.key.query_id for one in found] == [one.key.query_id for one in run.trials()]


def test_the_version_of_a_run_changes_with_it_alone(tmp_path: Path) -> None:
    make_store(tmp_path / "s.db")
    with Store.open(str(tmp_path / "s.db")) as store, open_store(str(tmp_path / "s.db")) as reader:
        first, other = reader.run(NEW).version(), reader.run(OLD).version()
        assert reader.run(NEW).version() == first
        store.add_trial(NEW, trial("reference", 2, wrong=False))
        second = reader.run(NEW).version()
        attempt = reader.run(NEW).results()[0]
        store.add_scores(NEW, attempt, (attempt.scores[0].model_copy(update={"value": 0.25}),))
        third = reader.run(NEW).version()
        assert len({first, second, third}) == 3
        assert reader.run(OLD).version() == other
