"""The command line `remand`: one file for each noun, tables for people, one JSON document for programs.

Verbs live in `app.engine`; a file here reads arguments, calls one of them and shows what it answered.
"""
