"""Fidelity: what frameworks do to the traffic between model and tools, as the probes of the kit see it.

``report`` runs the probes on several adapters, and ``table`` shows what they saw.
"""
