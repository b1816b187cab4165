"""The results of a user's own model."""
