"""Figures for print: what the pages draw for a screen, drawn by matplotlib as SVG, PNG or PDF."""

from trialbed_pages.figures._kinds import KINDS, FigureKind, write_figure

__all__ = ["KINDS", "FigureKind", "write_figure"]
