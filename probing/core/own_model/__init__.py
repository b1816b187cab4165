"""A user's own model: where it is, what it is, and a run that probes it in the background."""
