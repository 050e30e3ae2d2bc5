"""Own the pure core: templates, graphs, decisions, states.

Nothing here reads a clock, rolls a die, opens a socket or knows a table; only `template.load_file` and
`load_paths` read files. All else turns values into values: every rule can be tested without a database.
"""
