"""A question to a model about one cloze sentence, and its answer."""
