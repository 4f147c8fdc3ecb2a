"""The Apis that a selector chooses from: many, and read when they are needed."""

from trialbed.catalogs._catalog import ApiCatalog
from trialbed.catalogs._folders import open_documents
from trialbed.catalogs._stored import StoredApis

__all__ = ["ApiCatalog", "StoredApis", "open_documents"]
