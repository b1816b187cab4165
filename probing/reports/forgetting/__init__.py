"""The outcome of facts that fine-tuned models lost, and whether they come back more often than guesses."""
