"""The command line `remand`: tables for people, one JSON document for programs.

`commands/` has a file for each noun: it reads arguments, calls a verb of the engine and shows the answer with
what is in `render/`. Here is what all commands share.
"""
