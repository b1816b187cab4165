"""What was forgotten, when, and what prevents it."""
