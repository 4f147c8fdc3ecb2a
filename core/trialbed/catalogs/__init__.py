"""Apis of catalogs and queries of large datasets, read when they are needed."""

from trialbed.catalogs._catalog import ApiCatalog
from trialbed.catalogs._folders import open_documents
from trialbed.catalogs._queries import StoredQueries, expecting_queries, ids_of, pick_queries, queries_by_id
from trialbed.catalogs._stored import StoredApis

__all__ = [
    "ApiCatalog",
    "StoredApis",
    "StoredQueries",
    "expecting_queries",
    "ids_of",
    "open_documents",
    "pick_queries",
    "queries_by_id",
]
