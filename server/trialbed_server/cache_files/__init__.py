"""Caches in files, as StableToolBench keeps them, one for each Api: read into the response cache, and written back."""

from trialbed_server.cache_files._export import export_cache
from trialbed_server.cache_files._import import ImportReport, import_cache
from trialbed_server.cache_files._layout import cache_folder

__all__ = ["ImportReport", "cache_folder", "export_cache", "import_cache"]
