"""The dashboard: pages for people, in a browser."""
