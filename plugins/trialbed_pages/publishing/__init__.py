"""Published results: a folder of pages and files that needs no server, and what makes its numbers again.

``_numbers`` reads a run into records without times, ids and addresses, so that a replay gives the same; ``_page``,
``_board`` and ``_figures`` show them; ``_folder`` writes and checks the folder; ``_replay`` runs the recordings.
``publish_command`` and ``reproduce_command`` are ``bench publish`` and ``bench reproduce``.
"""
