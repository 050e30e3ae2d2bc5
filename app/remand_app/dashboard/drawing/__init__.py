"""Drawings as SVG: layouts are computed from values, templates write them down."""
