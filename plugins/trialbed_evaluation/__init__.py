"""Evaluates recorded conversations and runs, without running an agent.

score   ``bench score``: scores files of conversations, and stored runs again
judge   ``bench judge``: calibrates judges against labelled cases
"""
