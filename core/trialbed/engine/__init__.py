"""The engine: plans, runs, observes, scores, stores and resumes trials."""

from trialbed.engine._catalog import open_catalog
from trialbed.engine._control import ControlClient
from trialbed.engine._datasets import dataset_driver, known_queries, open_dataset, run_queries
from trialbed.engine._identity import config_digest, new_trial_token, trial_seed
from trialbed.engine._judge import identity_of, judge_report, standing_judge
from trialbed.engine._keywords import read_keywords
from trialbed.engine._models import judge_drivers, key_hint
from trialbed.engine._objects import NO_OBJECTS, RunObjects
from trialbed.engine._plan import Prepared, RunOptions, choose_queries
from trialbed.engine._rescoring import Rescored, rejudge, rescore
from trialbed.engine._run import prepare, run
from trialbed.engine._selector import standing_selector
from trialbed.engine._server import answers, server, server_root, split_port
from trialbed.engine._session import NoProgress, RunProgress
from trialbed.engine._trial import DUMMY_KEY

__all__ = [
    "DUMMY_KEY",
    "NO_OBJECTS",
    "ControlClient",
    "NoProgress",
    "Prepared",
    "Rescored",
    "RunObjects",
    "RunOptions",
    "RunProgress",
    "answers",
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
    "run",
    "run_queries",
    "server",
    "server_root",
    "split_port",
    "standing_judge",
    "standing_selector",
    "trial_seed",
]
