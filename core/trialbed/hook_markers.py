"""Markers for hooks and for the functions that implement them."""

from __future__ import annotations

import pluggy

PROJECT = "trialbed"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
