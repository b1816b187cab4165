"""What was forgotten and when, what comes back next to its yardsticks, and what prevents it."""
