"""Result documents with chosen scores."""

from support.written_documents import write

__all__ = ["write"]
