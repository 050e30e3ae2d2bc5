"""The demos: the examples run, fail and recover on this machine, through the commands that people use."""
