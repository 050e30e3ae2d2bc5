"""Benchmarks: each prints a table for people and, last, one JSON line. Figures are ratios within one run."""
