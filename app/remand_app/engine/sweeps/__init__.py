"""The periodic sweeps, such as ring, rescue and partitions. One function each, safe to run twice at once.

A sweep repairs what a crash or a lost message left behind; normal operation must not depend on it.
"""
