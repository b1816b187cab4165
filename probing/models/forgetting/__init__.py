"""Asks a fine-tuned model for facts that it lost, by ways that may bring them back."""
