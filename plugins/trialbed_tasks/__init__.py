"""Tasks in files: Python with functions as tools, YAML, JSON Lines and CSV.

driver     the datasets of such files
reading    the format of such files, its JSON Schema, and their tasks
python     the content of a Python file
checking, drafting, command    ``bench tasks``
"""
