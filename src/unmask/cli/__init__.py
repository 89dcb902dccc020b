"""The command line. Nothing but argument handling: the work is done elsewhere."""
