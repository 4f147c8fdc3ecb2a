"""The Apis of the datasets that the server was started with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from trialbed.contracts import Dataset, Simulator
from trialbed.drivers import load_driver
from trialbed.records import Api
from trialbed.settings import data_dir
from trialbed_server._options import ServerOptions
from trialbed_server.simulators.registry import Simulators


def documented_apis(options: ServerOptions, simulators: Simulators) -> Iterator[tuple[Api, Simulator]]:
    """Every Api with its simulator: the one chosen for the server, else the dataset's own.

    Raises:
        TrialbedError: a dataset or simulator is missing or broken.
    """
    for name in options.datasets:
        dataset = _open(name, options)
        simulator = simulators.get(options.simulator or dataset.simulator)
        yield from ((api, simulator) for api in dataset.apis())


def _open(name: str, options: ServerOptions) -> Dataset:
    driver, _, test_set = name.partition(":")
    return cast("Dataset", load_driver("datasets", driver)().open(test_set or None, options.data_dir or data_dir()))
