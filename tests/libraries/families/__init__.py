"""Real exceptions of real libraries, and what they are: one module per kind of library.

The class of each was decided from the library's or protocol's documentation before the classifier was asked.
"""
