"""The view of all tokens: what every layer predicts at every token of a sentence."""
