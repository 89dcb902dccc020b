"""Figures, drawn by Vega-Lite."""
