"""Reporters: views of result documents; each is a driver of ``trialbed.reporters``."""
