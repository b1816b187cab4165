"""A fine-tuned model compared with its base, fact by fact."""
