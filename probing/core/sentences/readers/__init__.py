"""One file for each layout of labelled sentences; every reader gives rows in the order of the file."""
