"""What fine-tuning changed in a model, of all capabilities together."""
