"""Pages of a store, for a browser or as one file to send on.

``app`` makes the application with its routes; each page has a module under ``runs`` that reads the store into the
record that its template shows:

    runs        the list, a run, its queries, a trial
    rendering   the templates, and addresses between pages
    publishing  folders of results that others can read, and make again
    exports     the trials of a run for other tools: lines, a table

Nothing is written but what a person says of an answer, and nothing is loaded from anywhere else. All text of agents,
models and Apis is escaped.
The names are loaded when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
