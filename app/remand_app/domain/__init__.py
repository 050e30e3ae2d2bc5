"""Own the pure core: templates, graphs, decisions, states.

Nothing here reads a clock, draws a random number, opens a socket or knows a table; only
`template.load_file` and `load_paths` read files. Everything else turns values into values, so every
rule can be tested without a database.
"""
