"""Tasks in files: Python with functions as tools, YAML, and JSON Lines.

driver     the datasets that such files are
reading    the form of such files, its JSON Schema, and their tasks
python     the content of a Python file
checking, drafting, command    ``bench tasks``
"""
