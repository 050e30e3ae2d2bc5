"""Own the pure core: templates, graphs, decisions, states.

Nothing here reads a clock, rolls a die, opens a socket or knows a table (`template.load_file` alone reads a file).
Everything is a function from values to values, so every rule can be tested without a database.
"""
