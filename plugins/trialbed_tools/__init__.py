"""Tools in files: made of the definitions that a program, an API or a server has, and answered by schema or for real.

forms      the form of such files
located    YAML and JSON with the line of each key
worlds     the Apis of such a file, and the answers to their calls
servers    MCP servers, which are started or called
command    ``bench tools``: makes files of definitions
"""
