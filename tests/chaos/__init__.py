"""A whole site under random faults: nothing that succeeded may be lost, only what fails on purpose may die.

`python -m tests.chaos` (`make chaos`) runs it for minutes; `tests/faults/test_chaos.py` for seconds.
"""
