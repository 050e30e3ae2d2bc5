"""What each noun of the command line does: a file a noun, its commands in it."""
