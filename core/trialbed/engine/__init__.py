"""The engine: plans, runs, observes, scores, stores and resumes trials."""

from trialbed.engine._benchmark import arun_benchmark, run_benchmark
from trialbed.engine._catalog import open_catalog
from trialbed.engine._control import ControlClient
from trialbed.engine._datasets import dataset_driver, open_dataset
from trialbed.engine._documents import known_queries, run_queries, stored_documents
from trialbed.engine._identity import config_digest, new_trial_token, trial_seed
from trialbed.engine._judge import identity_of, judge_report, standing_judge
from trialbed.engine._keywords import read_keywords
from trialbed.engine._models import judge_drivers, key_hint
from trialbed.engine._objects import RunObjects
from trialbed.engine._plan import RunOptions, choose_queries
from trialbed.engine._rescoring import Rescored, rejudge, rescore, rescored_documents
from trialbed.engine._run import prepare, run
from trialbed.engine._selector import standing_selector
from trialbed.engine._server import server
from trialbed.engine._session import NoProgress, RunProgress
from trialbed.engine._trial import DUMMY_KEY

__all__ = [
    "DUMMY_KEY",
    "ControlClient",
    "NoProgress",
    "Rescored",
    "RunObjects",
    "RunOptions",
    "RunProgress",
    "arun_benchmark",
    "choose_queries",
    "config_digest",
    "dataset_driver",
    "identity_of",
    "judge_drivers",
    "judge_report",
    "key_hint",
    "known_queries",
    "new_trial_token",
    "open_catalog",
    "open_dataset",
    "prepare",
    "read_keywords",
    "rejudge",
    "rescore",
    "rescored_documents",
    "run",
    "run_benchmark",
    "run_queries",
    "server",
    "standing_judge",
    "standing_selector",
    "stored_documents",
    "trial_seed",
]
