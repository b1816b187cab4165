"""What was forgotten and when, whether it comes back more often than guesses, and what prevents it."""
