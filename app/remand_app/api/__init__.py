"""The HTTP API: the same nouns, verbs and JSON as the command line."""
