"""Datasets by name, with their queries, and the Apis of catalogs, read when they are needed."""

from trialbed.catalogs._catalog import ApiCatalog, StoredApis
from trialbed.catalogs._datasets import (
    choose_queries,
    dataset_driver,
    known_queries,
    open_catalog,
    open_dataset,
    run_queries,
)

__all__ = [
    "ApiCatalog",
    "StoredApis",
    "choose_queries",
    "dataset_driver",
    "known_queries",
    "open_catalog",
    "open_dataset",
    "run_queries",
]
