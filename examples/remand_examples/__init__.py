"""Runnable workflows with real failures: card payments over HTTP, a CSV file imported in parallel parts."""
