"""The claims on forgetting on the Reproduction page."""
