"""Publish results as a folder of pages and files that needs no server, and reproduce its numbers.

``_numbers`` reads a run into records without times, ids and addresses, which would differ in a replay; ``_page``,
``_board`` and ``_figures`` show them; ``_folder`` writes and checks the folder; ``_replay`` runs the recordings.
``publish_command`` and ``reproduce_command`` are ``bench publish`` and ``bench reproduce``.
"""
