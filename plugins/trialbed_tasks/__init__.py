"""Tasks in files: Python with functions as tools, YAML, and JSON Lines.

driver    the datasets that such files are
forms     the form of such files, and its JSON Schema
command   ``bench tasks``: checks files, and prints the schema
"""
