"""One file for each source of targets; every reader gives training, development and test data."""
