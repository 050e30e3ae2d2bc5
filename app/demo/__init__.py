"""The demonstrations: the examples run, fail and recover on this machine, through the commands of people."""
