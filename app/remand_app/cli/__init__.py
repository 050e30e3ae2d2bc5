"""The command line `remand`: tables for people, one JSON document for programs.

`commands/` has one file for each noun. A command reads its arguments, calls a verb of the engine and shows
the answer with the functions of `render/`. This folder holds what all commands share.
"""
