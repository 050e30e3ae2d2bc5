"""Own what is done at intervals: ring, rescue, partitions. One function each, safe to run twice at once.

A sweep repairs what a crash or a lost message left behind; nothing of the normal course may depend on it.
"""
